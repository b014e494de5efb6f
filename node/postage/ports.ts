import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { Stamp } from '../../formats/chunk/stamp.ts';

export interface Batch {
  /** 32 bytes. */
  readonly id: Uint8Array;
  /** Normalised, per chunk. */
  readonly value: bigint;
  readonly start: number;
  /** 20 bytes. */
  readonly owner: Uint8Array;
  readonly bucketDepth: number;
  readonly depth: number;
  readonly immutable: boolean;
}

export interface ChainState {
  readonly block: number;
  readonly totalAmount: bigint;
  readonly currentPrice: bigint;
}

/** Every live batch of the network. */
export interface BatchStore {
  get(id: Uint8Array): Batch | undefined;
  all(): Batch[];
  chainState(): ChainState;
  /** Sum of 2^depth, chunks; at most 2^64 - 1. */
  commitment(): bigint;
  /** ceil(log2(commitment / reserve capacity)), 0 when it fits. */
  radius(): number;
}

export interface Issuer {
  readonly batchId: Uint8Array;
  readonly label: string;
  readonly amount: bigint;
  readonly depth: number;
  readonly bucketDepth: number;
  readonly blockNumber: number;
  readonly immutable: boolean;
  /** Highest ever of a bucket. */
  readonly utilization: number;
  /** Took the slot of an older chunk of a mutable batch. */
  readonly displaced: number;
}

export type PostageErrorCode =
  | 'BATCH_NOT_FOUND'
  | 'BATCH_NOT_USABLE'
  /** Also a batch that is another account's now. */
  | 'BATCH_EXPIRED'
  | 'BATCH_OVERISSUED'
  | 'STAMP_INVALID'
  | 'OUT_OF_FUNDS'
  | 'INSUFFICIENT_VALIDITY'
  | 'AMOUNT_INVALID'
  | 'DEPTH_INVALID';

export class PostageError extends Error {
  readonly code: PostageErrorCode;
  /** The refusal may be outdated: the chain is read only up to some block. */
  readonly passing: boolean;

  constructor(code: PostageErrorCode, message: string, options?: ErrorOptions & { passing?: boolean }) {
    super(message, options);
    this.name = 'PostageError';
    this.code = code;
    this.passing = options?.passing ?? false;
  }
}

export type Stampable = Pick<Chunk, 'address' | 'identity'>;

/** Synchronous: counters are in memory, their writes queued before the chunk's. */
export interface Stamper {
  readonly batchId: Uint8Array;
  /** @throws PostageError `BATCH_OVERISSUED` for a full bucket of an immutable batch */
  stamp(chunk: Stampable): Stamp;
}

export interface UploadStamper extends Stamper {
  /** Workers may sign; stamps have the order of the calls. */
  stampAsync(chunk: Stampable): Promise<Stamp>;
}

/** Absent: the chain's suggestion. */
export interface GasTerms {
  readonly gasPrice?: bigint | undefined;
  readonly gasLimit?: bigint | undefined;
}

export interface PurchaseRequest extends GasTerms {
  readonly amount: bigint;
  readonly depth: number;
  readonly immutable: boolean;
  readonly label: string;
}

export interface TopUpRequest extends GasTerms {
  readonly batchId: Uint8Array;
  /** Added to the remaining balance, per chunk. */
  readonly amount: bigint;
}

export interface DilutionRequest extends GasTerms {
  readonly batchId: Uint8Array;
  readonly depth: number;
}

export interface Postage {
  readonly batches: BatchStore;
  /** Expired ones only with `all`. */
  issuers(options?: { all: boolean }): Issuer[];
  issuer(batchId: Uint8Array): Issuer | undefined;
  /** Exists, and is old enough by the usable blocks. */
  usable(issuer: Issuer): boolean;
  /** One just bought, not read yet, is not gone. */
  gone(issuer: Issuer): boolean;
  /**
   * Missing from `batches` only because of the newest blocks: a reorganisation has removed its creation, or may undo the
   * price change that used it up. Until that is decided its chunks are kept.
   */
  awaited(batchId: Uint8Array): boolean;
  /** 2^bucketDepth entries. */
  buckets(batchId: Uint8Array): Uint32Array | undefined;
  /** @throws PostageError `BATCH_NOT_FOUND`, `BATCH_NOT_USABLE`, `BATCH_EXPIRED` */
  stamper(batchId: Uint8Array): UploadStamper;
  /** The batch of the newest stamp of this identity. */
  lastBatch(identity: Uint8Array): Uint8Array | undefined;
  /**
   * A stamp newer than all of this chunk's, of the same batch and index. Undefined while the given stamp is the newest, and
   * for other batches.
   */
  renewed(chunk: Stampable, stamp: Pick<Stamp, 'batchId' | 'timestamp'>): Stamp | undefined;
  /** Stamps so far are on disk: needed before a stamp leaves without its chunk. */
  saved(batchId: Uint8Array): Promise<void>;
  /** @throws PostageError `BATCH_NOT_FOUND`, `STAMP_INVALID` with the specification's reason */
  validate(chunk: Stampable, stamp: Stamp): void;
  /**
   * Approve, create, wait for the receipts.
   * @throws PostageError `OUT_OF_FUNDS`, `INSUFFICIENT_VALIDITY`, `DEPTH_INVALID`; ChainError
   */
  buy(request: PurchaseRequest, signal: AbortSignal): Promise<{ batchId: Uint8Array; txHash: string }>;
  /**
   * Any batch of the network; in `batches` once the event is read.
   * @throws PostageError `BATCH_NOT_FOUND`, `AMOUNT_INVALID`, `OUT_OF_FUNDS`; ChainError
   */
  topUp(request: TopUpRequest, signal: AbortSignal): Promise<{ txHash: string }>;
  /** An own batch, to a greater depth. @throws PostageError `BATCH_NOT_FOUND`, `DEPTH_INVALID`; ChainError */
  dilute(request: DilutionRequest, signal: AbortSignal): Promise<{ txHash: string }>;
  /** Durable when it resolves. @throws PostageError `BATCH_NOT_FOUND` unless own */
  relabel(batchId: Uint8Array, label: string): Promise<void>;
  /** Blocks at the current price, from the contract. @throws ChainError */
  minimumValidityBlocks(signal: AbortSignal): Promise<bigint>;
  /** Seconds at the current price, -1 when unknown or free. */
  batchTtl(batch: Batch): number;
  /** 'running' until the first catch-up. */
  syncState(): 'running' | 'synced' | 'failed';
}
