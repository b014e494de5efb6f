/** Regular expressions that a client gives: they are checked before they are used, and may not take the node's time. */
import { runInNewContext } from 'node:vm';

/** A text that is no expression, or one whose matching was given up. */
export class ExpressionError extends Error {
  readonly code = 'EXPRESSION_INVALID';

  constructor(problem: string, expression: string) {
    super(`${problem}: \`${expression}\``);
    this.name = 'ExpressionError';
  }
}

/**
 * Thousands of times what an honest expression needs for the names of a few dozen loggers. It goes by the wall clock:
 * a process that has to wait for a processor may lose a tenth of a second without having done anything.
 */
const MATCHING_MS_MAX = 1000;

/** In a context of its own, because only such a script can be stopped inside an expression that backtracks for ever. */
const MATCHING = 'texts.map((text) => matcher.test(text))';

/**
 * Which of the texts the expression matches anywhere in them.
 * @throws ExpressionError when it is none, or when matching takes longer than a second
 */
export function matches(expression: string, texts: readonly string[]): boolean[] {
  const matcher = compiled(expression);
  try {
    const matched: unknown = runInNewContext(MATCHING, { matcher, texts }, { timeout: MATCHING_MS_MAX });
    return Array.from(matched as boolean[]);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new ExpressionError('takes too long', expression);
    // The engine compiles at the first match, and only then finds that an expression is too large.
    if (error instanceof SyntaxError) throw refused(error, expression);
    throw error;
  }
}

function compiled(expression: string): RegExp {
  try {
    return new RegExp(expression);
  } catch (error) {
    throw refused(error as Error, expression);
  }
}

/** The engine repeats the expression between its own words. */
function refused({ message }: Error, expression: string): ExpressionError {
  return new ExpressionError((message.split(': ').at(-1) ?? 'invalid').toLowerCase(), expression);
}
