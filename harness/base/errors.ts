/** What can go wrong in the testbed itself, apart from the answers of a node (`client/errors.ts`). */
export type HarnessErrorCode =
  | 'USAGE'
  | 'ARGUMENT_INVALID'
  | 'DEFINITION_INVALID'
  | 'CLUSTER_EXISTS'
  | 'CLUSTER_NOT_FOUND'
  | 'CLUSTER_GONE'
  | 'NODE_NOT_FOUND'
  | 'NODE_STATE'
  | 'STATE_INVALID'
  | 'PORT_IN_USE'
  | 'PROCESS_FAILED'
  | 'CHAIN_FAILED'
  | 'CHAIN_STEADY'
  | 'BINARY_INVALID'
  | 'UPLOAD_UNKNOWN'
  | 'BATCH_UNKNOWN'
  | 'WAIT_TIMEOUT'
  | 'INTERRUPTED';

export class HarnessError extends Error {
  readonly code: HarnessErrorCode;
  /** A second paragraph for people: log lines, the command to try. */
  readonly hint: string | undefined;

  constructor(code: HarnessErrorCode, message: string, options: ErrorOptions & { hint?: string } = {}) {
    super(message, options);
    this.name = 'HarnessError';
    this.code = code;
    this.hint = options.hint;
  }
}

export const EXIT = { success: 0, checkFailed: 1, usage: 2, interrupted: 130 } as const;

/** What did not come true in time, or is not true any more, is a failed check; all else is usage or environment. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof HarnessError)) return EXIT.usage;
  if (error.code === 'WAIT_TIMEOUT' || error.code === 'CLUSTER_GONE') return EXIT.checkFailed;
  return error.code === 'INTERRUPTED' ? EXIT.interrupted : EXIT.usage;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Rejects with an `INTERRUPTED` error as soon as the signal says so. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw interrupted(signal);
}

export function interrupted(signal: AbortSignal): HarnessError {
  return signal.reason instanceof HarnessError
    ? signal.reason
    : new HarnessError('INTERRUPTED', 'interrupted', { cause: signal.reason });
}
