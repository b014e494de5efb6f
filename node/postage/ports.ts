import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { Stamp } from '../../formats/chunk/stamp.ts';

/** A batch as described by the contract's events. */
export interface Batch {
  /** 32 bytes. */
  readonly id: Uint8Array;
  /** Normalised balance per chunk. */
  readonly value: bigint;
  /** Block of creation. */
  readonly start: number;
  /** 20 bytes. */
  readonly owner: Uint8Array;
  readonly bucketDepth: number;
  readonly depth: number;
  readonly immutable: boolean;
}

export interface ChainState {
  /** Last block whose postage events are applied. */
  readonly block: number;
  /** Payout per chunk since genesis. */
  readonly totalAmount: bigint;
  readonly currentPrice: bigint;
}

/** Mirror of the postage contract: every live batch of the network. */
export interface BatchStore {
  get(id: Uint8Array): Batch | undefined;
  all(): Batch[];
  chainState(): ChainState;
  /** Sum of 2^depth over all live batches, chunks; at most 2^64 - 1. */
  commitment(): bigint;
  /** ceil(log2(commitment / reserve capacity)), 0 when it fits. */
  radius(): number;
}

/** A batch that this node can issue stamps from. */
export interface Issuer {
  readonly batchId: Uint8Array;
  readonly label: string;
  /** Per-chunk balance bought. */
  readonly amount: bigint;
  readonly depth: number;
  readonly bucketDepth: number;
  readonly blockNumber: number;
  readonly immutable: boolean;
  /** Highest bucket count ever. */
  readonly utilization: number;
  /** Stamps of a mutable batch that have taken the slot of an older chunk. */
  readonly displaced: number;
}

export type PostageErrorCode =
  | 'BATCH_NOT_FOUND'
  | 'BATCH_NOT_USABLE'
  /** Of a batch of its own, which has expired or is another account's now. */
  | 'BATCH_EXPIRED'
  | 'BATCH_OVERISSUED'
  | 'STAMP_INVALID'
  | 'OUT_OF_FUNDS'
  | 'INSUFFICIENT_VALIDITY'
  | 'AMOUNT_INVALID'
  | 'DEPTH_INVALID';

export class PostageError extends Error {
  readonly code: PostageErrorCode;
  /** Whether the refusal may be outdated: we have read the chain only up to some block. */
  readonly passing: boolean;

  constructor(code: PostageErrorCode, message: string, options?: ErrorOptions & { passing?: boolean }) {
    super(message, options);
    this.name = 'PostageError';
    this.code = code;
    this.passing = options?.passing ?? false;
  }
}

/** What a stamp is issued for: the chunk's content is not needed. */
export type Stampable = Pick<Chunk, 'address' | 'identity'>;

/**
 * Stamps chunks from one batch. Synchronous: the counters are in memory, their writes are queued before the chunk's.
 */
export interface Stamper {
  readonly batchId: Uint8Array;
  /** @throws PostageError `BATCH_OVERISSUED` for a full bucket of an immutable batch */
  stamp(chunk: Stampable): Stamp;
}

/** For many chunks one after another. */
export interface UploadStamper extends Stamper {
  /** As `stamp`, but workers may sign: the slot is taken when it is called, so stamps have the order of the calls. */
  stampAsync(chunk: Stampable): Promise<Stamp>;
}

/** What a user wants to pay for gas; absent: the chain's suggestion. */
export interface GasTerms {
  readonly gasPrice?: bigint | undefined;
  readonly gasLimit?: bigint | undefined;
}

export interface PurchaseRequest extends GasTerms {
  /** Per chunk. */
  readonly amount: bigint;
  readonly depth: number;
  readonly immutable: boolean;
  readonly label: string;
}

export interface TopUpRequest extends GasTerms {
  readonly batchId: Uint8Array;
  /** Per chunk, added to the remaining balance. */
  readonly amount: bigint;
}

export interface DilutionRequest extends GasTerms {
  readonly batchId: Uint8Array;
  readonly depth: number;
}

export interface Postage {
  readonly batches: BatchStore;
  /** Own batches, expired ones only with `all`. */
  issuers(options?: { all: boolean }): Issuer[];
  issuer(batchId: Uint8Array): Issuer | undefined;
  /** The batch exists, and the chain state is at least the usable blocks ahead of its block. */
  usable(issuer: Issuer): boolean;
  /**
   * Whether the chain no longer has the batch. One just bought, whose creation is not read yet, is not gone.
   */
  gone(issuer: Issuer): boolean;
  /**
   * Whether the batch is missing from `batches` only because of the newest blocks: a reorganisation has removed its
   * creation, whose transaction may be mined again, or one may undo the price change that has used it up. Until that
   * is decided its chunks are not given up.
   */
  awaited(batchId: Uint8Array): boolean;
  /** Counts per bucket, 2^bucketDepth entries. */
  buckets(batchId: Uint8Array): Uint32Array | undefined;
  /** @throws PostageError `BATCH_NOT_FOUND`, `BATCH_NOT_USABLE`, `BATCH_EXPIRED` */
  stamper(batchId: Uint8Array): UploadStamper;
  /** Own batch from which the chunk of this identity got its newest stamp. */
  lastBatch(identity: Uint8Array): Uint8Array | undefined;
  /**
   * A new stamp of the same own batch, newer than all others of this chunk, with the same index. Undefined while the
   * given stamp is the newest, and for other batches.
   */
  renewed(chunk: Stampable, stamp: Pick<Stamp, 'batchId' | 'timestamp'>): Stamp | undefined;
  /**
   * Resolves when every stamp issued from the batch so far is on disk: needed before a stamp leaves without its
   * chunk.
   */
  saved(batchId: Uint8Array): Promise<void>;
  /**
   * Applies the network's rule for a received chunk.
   * @throws PostageError `BATCH_NOT_FOUND`, `STAMP_INVALID` with the specification's reason
   */
  validate(chunk: Stampable, stamp: Stamp): void;
  /**
   * Approve, create, wait for the receipts.
   * @throws PostageError `OUT_OF_FUNDS`, `INSUFFICIENT_VALIDITY`, `DEPTH_INVALID`; ChainError
   */
  buy(request: PurchaseRequest, signal: AbortSignal): Promise<{ batchId: Uint8Array; txHash: string }>;
  /**
   * Approves, tops up, waits for the receipts; any batch of the network. Seen in `batches` once the event is
   * read.
   * @throws PostageError `BATCH_NOT_FOUND`, `AMOUNT_INVALID`, `OUT_OF_FUNDS`; ChainError
   */
  topUp(request: TopUpRequest, signal: AbortSignal): Promise<{ txHash: string }>;
  /**
   * As above, for an own batch and a greater depth.
   * @throws PostageError `BATCH_NOT_FOUND`, `DEPTH_INVALID`; ChainError
   */
  dilute(request: DilutionRequest, signal: AbortSignal): Promise<{ txHash: string }>;
  /** Durable when it resolves. @throws PostageError `BATCH_NOT_FOUND` for a batch that is not this node's */
  relabel(batchId: Uint8Array, label: string): Promise<void>;
  /** Asks the contract how many blocks a new batch must last at the current price. @throws ChainError */
  minimumValidityBlocks(signal: AbortSignal): Promise<bigint>;
  /** Seconds that the batch lasts at the current price, -1 when unknown or free. */
  batchTtl(batch: Batch): number;
  /** 'running' until the first catch-up is done. */
  syncState(): 'running' | 'synced' | 'failed';
}
