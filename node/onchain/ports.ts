/** What the layers above may do with the chain. `rpc.ts` is the only file that talks to the endpoint. */
export type ChainErrorCode =
  | 'RPC_UNREACHABLE'
  | 'RPC_ERROR'
  | 'REVERTED'
  | 'GAS_PRICE_TOO_LOW'
  | 'INSUFFICIENT_NATIVE'
  | 'TRANSACTION_CANCELLED';

/** What a contract said when it refused. */
export interface Revert {
  /** `NotBatchOwner()` for a known custom error, the text of `Error(string)`, or what the endpoint wrote. */
  readonly reason: string;
  /** Raw bytes as 0x-hex; `0x` when there were none. */
  readonly data: string;
}

export class ChainError extends Error {
  readonly code: ChainErrorCode;
  /** With code `REVERTED` alone. */
  readonly revert: Revert | undefined;

  constructor(code: ChainErrorCode, message: string, options?: ErrorOptions & { revert?: Revert }) {
    super(message, options);
    this.name = 'ChainError';
    this.code = code;
    this.revert = options?.revert;
  }
}

export interface LogEntry {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockNumber: number;
  readonly transactionHash: string;
  readonly logIndex: number;
}

export interface Receipt {
  readonly transactionHash: string;
  readonly status: 'success' | 'reverted';
  readonly blockNumber: number;
  readonly gasUsed: bigint;
  readonly logs: readonly LogEntry[];
}

export interface Chain {
  chainId(): Promise<bigint>;
  blockNumber(signal?: AbortSignal): Promise<number>;
  call(request: { to: string; data: string; from?: string }, signal?: AbortSignal): Promise<string>;
  logs(
    filter: { address: string; topics: readonly (readonly string[])[]; fromBlock: number; toBlock: number },
    signal?: AbortSignal,
  ): Promise<LogEntry[]>;
  nativeBalance(address: string, signal?: AbortSignal): Promise<bigint>;
  /** Transactions of the account so far, those waiting in the pool included: the next nonce. */
  transactionCount(address: string, signal?: AbortSignal): Promise<number>;
}

/** One sender, one nonce sequence. */
export interface Transactions {
  /** Signs, sends, waits for the receipt. @throws ChainError `REVERTED` with the contract's reason, `GAS_PRICE_TOO_LOW`, … */
  execute(
    request: {
      to: string;
      data: string;
      value?: bigint;
      gasLimit?: bigint;
      gasPrice?: bigint;
      description: string;
    },
    signal: AbortSignal,
  ): Promise<Receipt>;
}
