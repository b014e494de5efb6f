/**
 * Regular expressions that a client gives: in the syntax of RE2, which knows nothing that could backtrack, of bounded
 * length and size, and one after the other with pauses, so that they never take more than a small part of the node's time.
 */
import type { Clock } from './clock.ts';
import { Lock } from './turns/lock.ts';

/** A text that is no expression, or a larger one than the names of loggers need. */
export class ExpressionError extends Error {
  readonly code = 'EXPRESSION_INVALID';

  constructor(problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.name = 'ExpressionError';
  }
}

/** Characters: three times the longest name of a logger. */
const LENGTH_MAX = 128;
/** All counts in braces together, `{2,5}` counts 5: each of them is as many copies of what it repeats. */
const COUNTS_MAX = 20;
/** Steps of the compiled expression: with all names, a millisecond or two of matching. */
const PROGRAM_SIZE_MAX = 200;
/** Between two expressions, milliseconds. */
const PAUSE_MS = 250;

export class Expressions {
  readonly #clock: Clock;
  readonly #lock = new Lock();
  #notBeforeMs = 0;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /**
   * Which of the texts the expression matches anywhere in them.
   * @throws ExpressionError when it is none, or too large
   */
  matches(expression: string, texts: readonly string[], signal?: AbortSignal): Promise<boolean[]> {
    const clock = this.#clock;
    return this.#lock.run(async () => {
      checkSize(expression);
      const waitMs = this.#notBeforeMs - clock.monotonic();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      signal?.throwIfAborted();
      try {
        return await matched(expression, texts);
      } finally {
        this.#notBeforeMs = clock.monotonic() + PAUSE_MS;
      }
    }, signal);
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

/** The library is loaded with the first expression: most nodes never see one. */
async function matched(expression: string, texts: readonly string[]): Promise<boolean[]> {
  const { RE2JS, RE2JSException } = await import('re2js');
  try {
    const compiled = RE2JS.compile(expression);
    const size = compiled.programSize();
    if (size > PROGRAM_SIZE_MAX) throw tooLarge(`${size} steps, at most ${PROGRAM_SIZE_MAX}`);
    return texts.map((text) => compiled.matcher(text).find());
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new ExpressionError(error.message.replace(/^error parsing regexp: /, ''), { cause: error });
  }
}

function tooLarge(detail: string): ExpressionError {
  return new ExpressionError(`expression too large: ${detail}`);
}
