/** An error of `--json`: one line, which can end a stream of documents. */
import { HarnessError, messageOf, systemHint } from '../base/errors.ts';

export interface FailureDocument {
  readonly error: {
    /** Stable when the message changes. */
    readonly code: string;
    readonly message: string;
    /** What to try next. */
    readonly hint: string | null;
  };
}

export function failureDocument(error: unknown): FailureDocument {
  return { error: { code: codeOf(error), message: messageOf(error), hint: hintOf(error) ?? null } };
}

export function hintOf(error: unknown): string | undefined {
  return error instanceof HarnessError ? error.hint : systemHint(error);
}

/** @param text Commander's, `error: …` */
export function usageDocument(text: string): FailureDocument {
  const [first = '', ...more] = text.replace(/^error: /, '').split('\n');
  const hint = more.join('\n');
  return { error: { code: 'USAGE', message: first, hint: hint === '' ? null : hint } };
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : 'INTERNAL';
}
