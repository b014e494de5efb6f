/** An error as `--json` prints it: one document of one line, so that it fits behind those of a stream as well. */
import { HarnessError, messageOf } from '../base/errors.ts';

export interface FailureDocument {
  readonly error: {
    /** For programs: stays the same when the words change. */
    readonly code: string;
    readonly message: string;
    /** What to look at or to try; null when there is nothing to add. */
    readonly hint: string | null;
  };
}

export function failureDocument(error: unknown): FailureDocument {
  const hint = error instanceof HarnessError ? (error.hint ?? null) : null;
  return { error: { code: codeOf(error), message: messageOf(error), hint } };
}

/** Of a mistake on the command line, in the words in which it was told: `error: …`, then what may have been meant. */
export function usageDocument(text: string): FailureDocument {
  const [first = '', ...more] = text.replace(/^error: /, '').split('\n');
  const hint = more.join('\n');
  return { error: { code: 'USAGE', message: first, hint: hint === '' ? null : hint } };
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : 'INTERNAL';
}
