/** What other layers may do with the chain. */
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

export interface BlockHeader {
  readonly number: number;
  /** `0x` and 64 lower-case hex. */
  readonly hash: string;
  /** `0x` and 64 hex; undefined when the endpoint does not say. */
  readonly parentHash?: string | undefined;
  /** Undefined when the endpoint does not say. */
  readonly transactions?: number | undefined;
}

export interface Chain {
  chainId(signal?: AbortSignal): Promise<bigint>;
  blockNumber(signal?: AbortSignal): Promise<number>;
  /** Undefined when the endpoint lacks the block. */
  header(block: number | 'latest', signal?: AbortSignal): Promise<BlockHeader | undefined>;
  call(request: { to: string; data: string; from?: string }, signal?: AbortSignal): Promise<string>;
  logs(
    filter: { address: string; topics: readonly (readonly string[])[]; fromBlock: number; toBlock: number },
    signal?: AbortSignal,
  ): Promise<LogEntry[]>;
  nativeBalance(address: string, signal?: AbortSignal): Promise<bigint>;
  /** Transactions with those in the pool: the next nonce. */
  transactionCount(address: string, signal?: AbortSignal): Promise<number>;
}

export interface TransactionRequest {
  /** `0x` and 40 hex. */
  readonly to: string;
  /** `0x` for a plain transfer. */
  readonly data: string;
  /** Native coin, base units. */
  readonly value?: bigint;
  /** 0 or absent: estimated. */
  readonly gasLimit?: bigint | undefined;
  /** Lower bound of an estimate, and the limit without one. */
  readonly minimumGasLimit?: bigint;
  /** Absent: by the endpoint's suggestions. */
  readonly gasPrice?: bigint | undefined;
  /** Absent: 25. */
  readonly tipBoostPercent?: number;
  readonly description: string;
  /**
   * Before anything is written or sent, so that an operation can note the hash. After a crash, one that `find` does not know
   * was never sent; another will be.
   */
  readonly beforeSend?: (hash: string) => Promise<void>;
}

type TransactionOutcome =
  | { readonly kind: 'mined'; readonly receipt: Receipt }
  /** Another transaction took its nonce in this block, or was observed at it. */
  | { readonly kind: 'cancelled'; readonly blockNumber: number };

export interface SentTransaction {
  readonly hash: string;
  readonly to: string;
  readonly data: string;
  readonly value: bigint;
  readonly nonce: number;
  readonly gasLimit: bigint;
  /** Base units per gas. */
  readonly gasTipCap: bigint;
  readonly gasFeeCap: bigint;
  readonly tipBoostPercent: number;
  /** Unix seconds. */
  readonly created: number;
  readonly description: string;
  /** Undefined while pending. A reorganisation may undo it. */
  readonly outcome: TransactionOutcome | undefined;
}

/** One nonce sequence. Hashes in any case. */
export interface Transactions {
  /**
   * Signs, records and sends. @returns the hash once the endpoint has it
   * @throws ChainError `GAS_PRICE_TOO_LOW`, `INSUFFICIENT_NATIVE`, `RPC_ERROR` and others: nothing was sent. After an abort,
   *   or `RPC_UNREACHABLE` naming the hash, it will still be sent
   */
  send(request: TransactionRequest, signal: AbortSignal): Promise<string>;
  /**
   * Until mined, successful or not. @throws ChainError `TRANSACTION_CANCELLED`, `TRANSACTION_UNKNOWN`, `MONITOR_CLOSED` when
   * the node stops
   */
  wait(hash: string, signal: AbortSignal): Promise<Receipt>;
  /**
   * `send` and `wait`. @throws ChainError also `REVERTED` with the contract's reason, `NOT_MINED` after a while: it stays
   * under way
   */
  execute(request: TransactionRequest, signal: AbortSignal): Promise<Receipt>;
  find(hash: string): SentTransaction | undefined;
  pending(): SentTransaction[];
  /** The stored bytes. @throws ChainError `TRANSACTION_UNKNOWN`, `ALREADY_IMPORTED` when the endpoint has it */
  resend(hash: string, signal: AbortSignal): Promise<void>;
  /**
   * Puts one that does nothing in its place. @returns its hash
   * @throws ChainError `TRANSACTION_UNKNOWN`, `ALREADY_IMPORTED`, `GAS_PRICE_TOO_LOW`, `RPC_ERROR` when it is refused
   */
  cancel(
    hash: string,
    options: { readonly gasPrice?: bigint | undefined },
    signal: AbortSignal,
  ): Promise<string>;
}
