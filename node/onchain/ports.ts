/** What upper layers may do with the chain; `rpc.ts` alone talks to the endpoint. */
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
  /** The previous block's hash; undefined: not told. */
  readonly parentHash?: string | undefined;
  /** Undefined: not told. */
  readonly transactions?: number | undefined;
}

export interface Chain {
  chainId(signal?: AbortSignal): Promise<bigint>;
  blockNumber(signal?: AbortSignal): Promise<number>;
  /** Undefined: the endpoint lacks the block. */
  header(block: number | 'latest', signal?: AbortSignal): Promise<BlockHeader | undefined>;
  call(request: { to: string; data: string; from?: string }, signal?: AbortSignal): Promise<string>;
  logs(
    filter: { address: string; topics: readonly (readonly string[])[]; fromBlock: number; toBlock: number },
    signal?: AbortSignal,
  ): Promise<LogEntry[]>;
  nativeBalance(address: string, signal?: AbortSignal): Promise<bigint>;
  /** Including those in the pool: the next nonce. */
  transactionCount(address: string, signal?: AbortSignal): Promise<number>;
}

export interface TransactionRequest {
  /** `0x` and 40 hex. */
  readonly to: string;
  /** 0x-hex; `0x` for a plain transfer. */
  readonly data: string;
  /** Native coin, base units. */
  readonly value?: bigint;
  /** Used as given, within the chain's limits; 0 or absent: estimated. */
  readonly gasLimit?: bigint | undefined;
  /** Of an estimate; the limit if there is none. */
  readonly minimumGasLimit?: bigint;
  /** Highest price per gas; absent: as the endpoint suggests. */
  readonly gasPrice?: bigint | undefined;
  /** Added to the suggested tip, percent; absent: 25. */
  readonly tipBoostPercent?: number;
  /** Shown in the list of transactions. */
  readonly description: string;
  /**
   * Called with the hash before anything is written or sent, so that an operation can note it for after a crash. A
   * hash unknown to `find` was never sent; a known one will be.
   */
  readonly beforeSend?: (hash: string) => Promise<void>;
}

/** The outcome of a transaction. */
type TransactionOutcome =
  | { readonly kind: 'mined'; readonly receipt: Receipt }
  /** Another transaction took its nonce, in `blockNumber` or, if unknown, observed then. */
  | { readonly kind: 'cancelled'; readonly blockNumber: number };

/** A sent transaction, kept for ever. */
export interface SentTransaction {
  /** `0x` and 64 lower-case hex. */
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
  /** Undefined: pending. A reorganisation may undo it. */
  readonly outcome: TransactionOutcome | undefined;
}

/** One sender, one nonce sequence. Hashes are `0x` and 64 hex in any case. */
export interface Transactions {
  /**
   * Signs, records, sends. @returns the hash once the endpoint has it
   * @throws ChainError `GAS_PRICE_TOO_LOW`, `INSUFFICIENT_NATIVE`, `RPC_ERROR` and others: nothing was sent. After an
   * abort, or `RPC_UNREACHABLE` naming the hash, it is recorded and will still be sent.
   */
  send(request: TransactionRequest, signal: AbortSignal): Promise<string>;
  /**
   * Waits until it is mined, successful or not.
   * @throws ChainError `TRANSACTION_CANCELLED`, `TRANSACTION_UNKNOWN`, `MONITOR_CLOSED` when the node stops
   */
  wait(hash: string, signal: AbortSignal): Promise<Receipt>;
  /**
   * `send` and `wait`, for a waiting caller.
   * @throws ChainError also `REVERTED` with the contract's reason, `NOT_MINED` after a while: it stays under way
   */
  execute(request: TransactionRequest, signal: AbortSignal): Promise<Receipt>;
  find(hash: string): SentTransaction | undefined;
  /** Not mined yet, ascending by nonce. */
  pending(): SentTransaction[];
  /** @throws ChainError `TRANSACTION_UNKNOWN`, `ALREADY_IMPORTED` when the endpoint has it */
  resend(hash: string, signal: AbortSignal): Promise<void>;
  /**
   * Replaces a transaction by an empty one of its nonce. @returns the replacement's hash
   * @throws ChainError `TRANSACTION_UNKNOWN`, `ALREADY_IMPORTED`, `GAS_PRICE_TOO_LOW`, `RPC_ERROR` when refused
   */
  cancel(
    hash: string,
    options: { readonly gasPrice?: bigint | undefined },
    signal: AbortSignal,
  ): Promise<string>;
}
