/** What the layers above may do with the chain. `rpc.ts` is the only file that talks to the endpoint. */
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
  /** Hash of the previous block, as above; undefined when the endpoint does not say. */
  readonly parentHash?: string | undefined;
  /** Number of its transactions; undefined when the endpoint does not say. */
  readonly transactions?: number | undefined;
}

export interface Chain {
  chainId(signal?: AbortSignal): Promise<bigint>;
  blockNumber(signal?: AbortSignal): Promise<number>;
  /** Undefined for a block that the endpoint does not have. */
  header(block: number | 'latest', signal?: AbortSignal): Promise<BlockHeader | undefined>;
  call(request: { to: string; data: string; from?: string }, signal?: AbortSignal): Promise<string>;
  logs(
    filter: { address: string; topics: readonly (readonly string[])[]; fromBlock: number; toBlock: number },
    signal?: AbortSignal,
  ): Promise<LogEntry[]>;
  nativeBalance(address: string, signal?: AbortSignal): Promise<bigint>;
  /** Transactions of the account so far, including those in the pool: the next nonce. */
  transactionCount(address: string, signal?: AbortSignal): Promise<number>;
}

export interface TransactionRequest {
  /** `0x` and 40 hex. */
  readonly to: string;
  /** 0x-hex; `0x` for a plain transfer. */
  readonly data: string;
  /** Native coin, base units. */
  readonly value?: bigint;
  /** Used as given, within what the chain allows; 0 or absent: estimated. */
  readonly gasLimit?: bigint | undefined;
  /** Lower bound of an estimate, and the limit when nothing can be estimated. */
  readonly minimumGasLimit?: bigint;
  /** Highest price per gas; absent: based on the endpoint's suggestions. */
  readonly gasPrice?: bigint | undefined;
  /** Added to the suggested tip, percent; absent: 25. */
  readonly tipBoostPercent?: number;
  /** Shown in the list of transactions. */
  readonly description: string;
  /**
   * Called with the hash before anything is written or sent, so that an operation can note the hash to continue with
   * after a crash. A noted hash that `find` does not know was never sent; one that it knows will be, sooner or later.
   */
  readonly beforeSend?: (hash: string) => Promise<void>;
}

/** The outcome of a transaction. */
type TransactionOutcome =
  | { readonly kind: 'mined'; readonly receipt: Receipt }
  /** Another transaction took its nonce. `blockNumber`: in this block, or, if it is unknown, observed at this one. */
  | { readonly kind: 'cancelled'; readonly blockNumber: number };

/** A transaction that this node has sent; kept for ever. */
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
  /** Undefined while it is pending. A reorganisation of the chain may undo it. */
  readonly outcome: TransactionOutcome | undefined;
}

/** One sender, one nonce sequence. Hashes are `0x` and 64 hex in any case. */
export interface Transactions {
  /**
   * Signs a transaction, records it, sends it. @returns its hash once the endpoint has it
   * @throws ChainError `GAS_PRICE_TOO_LOW`, `INSUFFICIENT_NATIVE`, `RPC_ERROR` and others: nothing was sent. After an
   * abort, or `RPC_UNREACHABLE` whose text names the hash, the transaction is recorded and will still be sent.
   */
  send(request: TransactionRequest, signal: AbortSignal): Promise<string>;
  /**
   * Waits until a transaction of this node is mined, whether it succeeded or not.
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
  /**
   * Resends the stored bytes.
   * @throws ChainError `TRANSACTION_UNKNOWN`, `ALREADY_IMPORTED` when the endpoint has it
   */
  resend(hash: string, signal: AbortSignal): Promise<void>;
  /**
   * Replaces a transaction by one of the same nonce that does nothing. @returns the hash of the replacement
   * @throws ChainError `TRANSACTION_UNKNOWN`, `ALREADY_IMPORTED`, `GAS_PRICE_TOO_LOW`, `RPC_ERROR` when it is refused
   */
  cancel(
    hash: string,
    options: { readonly gasPrice?: bigint | undefined },
    signal: AbortSignal,
  ): Promise<string>;
}
