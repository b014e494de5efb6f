/**
 * Clients' regular expressions in the syntax of RE2, which cannot backtrack: bounded in length and size, and evaluated one
 * by one with pauses.
 */
import type { Clock } from '../../formats/clock.ts';
import { Lock } from './turns/lock.ts';

/** Also a text larger than logger names need. */
export class ExpressionError extends Error {
  readonly code = 'EXPRESSION_INVALID';

  constructor(problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.name = 'ExpressionError';
  }
}

/** Three times the longest name of a logger. */
const LENGTH_MAX = 128;
/** Sum of counts in braces (`{2,5}`: 5). A count copies what it repeats. */
const COUNTS_MAX = 20;
/** Steps of the compiled expression: a millisecond per name. */
const PROGRAM_SIZE_MAX = 200;
const PAUSE_MS = 1_000;
/** Parts of logger names: no engine is needed. */
const PLAIN = /^[\w/-]+$/;

type MatchingClock = Pick<Clock, 'monotonic' | 'sleep' | 'turn'>;

export class Expressions {
  readonly #clock: MatchingClock;
  readonly #lock = new Lock();
  #notBeforeMs = 0;

  constructor({ clock }: { readonly clock: MatchingClock }) {
    this.#clock = clock;
  }

  /** Anywhere in each text. @throws ExpressionError when invalid or too large */
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

  /** Most nodes never load the library. */
  async #matched(expression: string, texts: readonly string[], signal?: AbortSignal): Promise<boolean[]> {
    const { RE2JS, RE2JSException } = await import('re2js');
    const results: boolean[] = [];
    try {
      const compiled = RE2JS.compile(expression);
      const size = compiled.programSize();
      if (size > PROGRAM_SIZE_MAX) throw tooLarge(`${size} steps, at most ${PROGRAM_SIZE_MAX}`);
      for (const text of texts) {
        // The largest take a millisecond per name.
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
