/** Why a call to the chain failed. */
export type ChainErrorCode =
  | 'RPC_UNREACHABLE'
  | 'RPC_ERROR'
  | 'REVERTED'
  | 'GAS_PRICE_TOO_LOW'
  | 'GAS_LIMIT_TOO_LOW'
  | 'INSUFFICIENT_NATIVE'
  | 'TRANSACTION_CANCELLED'
  | 'TRANSACTION_UNKNOWN'
  | 'ALREADY_IMPORTED'
  | 'NOT_MINED'
  | 'MONITOR_CLOSED';

export interface Revert {
  /** `NotBatchOwner()` for a known custom error, the text of `Error(string)`, or the endpoint's text. */
  readonly reason: string;
  /** Raw bytes as 0x-hex; `0x` when there were none. */
  readonly data: string;
}

export class ChainError extends Error {
  readonly code: ChainErrorCode;
  /** Only with code `REVERTED`. */
  readonly revert: Revert | undefined;
  /** Only with code `NOT_MINED`: hash of the transaction to be mined, resent or cancelled first. */
  readonly blocking: string | undefined;
  /** The endpoint is overloaded; it may answer the same request later. */
  readonly busy: boolean;

  constructor(
    code: ChainErrorCode,
    message: string,
    options?: ErrorOptions & { revert?: Revert; blocking?: string; busy?: boolean },
  ) {
    super(message, options);
    this.name = 'ChainError';
    this.code = code;
    this.revert = options?.revert;
    this.blocking = options?.blocking;
    this.busy = options?.busy ?? false;
  }
}
