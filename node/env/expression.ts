/**
 * Regular expressions from clients: in the syntax of RE2, which has nothing that could backtrack, of bounded length
 * and size, and evaluated one after another with pauses, so that they never take more than a small part of the node's
 * time.
 */
import type { Clock } from '../../formats/clock.ts';
import { Lock } from './turns/lock.ts';

/** A text that is not an expression, or is larger than needed for logger names. */
export class ExpressionError extends Error {
  readonly code = 'EXPRESSION_INVALID';

  constructor(problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.name = 'ExpressionError';
  }
}

/** Characters: three times the longest name of a logger. */
const LENGTH_MAX = 128;
/** Sum of all counts in braces, `{2,5}` counts 5: each creates that many copies of what it repeats. */
const COUNTS_MAX = 20;
/** Steps of the compiled expression: about a millisecond for one name. */
const PROGRAM_SIZE_MAX = 200;
/** Between two expressions, milliseconds. */
const PAUSE_MS = 1_000;
/** Logger names and parts of them, in which every character stands for itself: these need no expression engine. */
const PLAIN = /^[\w/-]+$/;

type MatchingClock = Pick<Clock, 'monotonic' | 'sleep' | 'turn'>;

export class Expressions {
  readonly #clock: MatchingClock;
  readonly #lock = new Lock();
  #notBeforeMs = 0;

  constructor({ clock }: { readonly clock: MatchingClock }) {
    this.#clock = clock;
  }

  /**
   * Which of the texts the expression matches anywhere in them.
   * @throws ExpressionError when it is invalid or too large
   */
  matches(expression: string, texts: readonly string[], signal?: AbortSignal): Promise<boolean[]> {
    if (expression.length <= LENGTH_MAX && PLAIN.test(expression))
      return Promise.resolve(texts.map((text) => text.includes(expression)));
    const clock = this.#clock;
    return this.#lock.run(async () => {
      checkSize(expression);
      const waitMs = this.#notBeforeMs - clock.monotonic();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      signal?.throwIfAborted();
      try {
        return await this.#matched(expression, texts, signal);
      } finally {
        this.#notBeforeMs = clock.monotonic() + PAUSE_MS;
      }
    }, signal);
  }

  /** The library is loaded with the first expression: most nodes never see one. */
  async #matched(expression: string, texts: readonly string[], signal?: AbortSignal): Promise<boolean[]> {
    const { RE2JS, RE2JSException } = await import('re2js');
    const results: boolean[] = [];
    try {
      const compiled = RE2JS.compile(expression);
      const size = compiled.programSize();
      if (size > PROGRAM_SIZE_MAX) throw tooLarge(`${size} steps, at most ${PROGRAM_SIZE_MAX}`);
      for (const text of texts) {
        // The largest take a millisecond per name: other work runs in between.
        await this.#clock.turn();
        signal?.throwIfAborted();
        results.push(compiled.matcher(text).find());
      }
      return results;
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      throw new ExpressionError(error.message.replace(/^error parsing regexp: /, ''), { cause: error });
    }
  }
}

function checkSize(expression: string): void {
  if (expression.length > LENGTH_MAX)
    throw new ExpressionError(`expression of ${expression.length} characters, at most ${LENGTH_MAX}`);
  let counts = 0;
  for (const [, least, most] of expression.matchAll(/\{(\d+)(?:,(\d*))?\}/g))
    counts += Math.max(Number(least), Number(most ?? 0));
  if (counts > COUNTS_MAX) throw tooLarge(`counts of ${counts} together, at most ${COUNTS_MAX}`);
}

function tooLarge(detail: string): ExpressionError {
  return new ExpressionError(`expression too large: ${detail}`);
}
