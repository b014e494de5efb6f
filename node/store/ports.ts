/**
 * What the layers above may do with the local store. One implementation on LMDB (`lmdb-store.ts`, one environment
 * per node) and one in memory for unit tests and the simulation (`memory-store.ts`). Reads are synchronous; writes
 * resolve when they are committed, that is, when they survive `kill -9`. Writes are committed in the order in which
 * they were issued, so waiting for the last one is waiting for all.
 */
import type { Chunk } from '../chunk/chunk.ts';
import type { Stamp } from '../chunk/stamp.ts';

/** Small ordered records of one subsystem. Keys sort bytewise. */
export interface KeyValueStore {
  get(key: string): Uint8Array | undefined;
  put(key: string, value: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** Several changes as one transaction: all or nothing. */
  batch(changes: readonly KeyValueChange[]): Promise<void>;
  /** Entries whose key starts with `prefix`, ascending, as of now. */
  entries(prefix: string): Iterable<readonly [key: string, value: Uint8Array]>;
}

export type KeyValueChange =
  | { readonly put: string; readonly value: Uint8Array }
  | { readonly remove: string };

/** Chunks of every logical store, each held once with a reference count. */
export interface ChunkReader {
  /**
   * The stored chunk, or one that was handed over to a peer a moment ago, or undefined. Bytes are the caller's to keep,
   * and they are what was stored: a chunk whose bytes are damaged counts as missing.
   */
  get(address: Uint8Array): Chunk | undefined;
  /** Is it stored, and readable? Looks at the bytes. */
  has(address: Uint8Array): boolean;
  /** A chunk that came from elsewhere: written again if the stored one is known to be damaged. Never waits for the disk. */
  heal(chunk: Chunk): void;
}

/** Stored chunks whose bytes have been found to be wrong. They count as missing until they come again. */
export interface Damage {
  /** Addresses, ascending. */
  damaged(limit: number): Uint8Array[];
  /** Called for each one when it is found. @returns ends the calls */
  onDamaged(listener: (address: Uint8Array) => void): () => void;
  /** Called for each one that has come again. @returns ends the calls */
  onHealed(listener: (address: Uint8Array) => void): () => void;
}

export interface Tag {
  readonly uid: number;
  readonly split: number;
  readonly seen: number;
  readonly stored: number;
  readonly sent: number;
  readonly synced: number;
  /** Root reference given when the session closed (32 bytes), or empty. */
  readonly address: Uint8Array;
  /** Unix milliseconds. */
  readonly startedAt: number;
}

export interface TagStore {
  create(): Promise<Tag>;
  get(uid: number): Tag | undefined;
  /** Ascending by uid. */
  list(offset: number, limit: number): Tag[];
  remove(uid: number): Promise<void>;
}

/** One upload under a tag. Its chunks are not pushed before `done`; a crash before `done` undoes it at the next start. */
export interface UploadSession {
  readonly tagUid: number;
  /** Back-pressured: resolves at once while fewer than a bounded number of writes are open. Errors surface here or in `done`. */
  put(chunk: Chunk, stamp: Stamp): Promise<void>;
  /** Waits for every write, sets split, seen and the address, hands the chunks to the pusher. Durable when it resolves. */
  done(reference?: Uint8Array): Promise<void>;
  /** Takes back everything put; safe after a failed `put`. */
  cleanup(): Promise<void>;
}

export interface PendingPush {
  /** Order of pushing. */
  readonly sequence: number;
  readonly tagUid: number;
  readonly address: Uint8Array;
  /** Read from the store at the first look. @throws StoreError `STORE_CORRUPT` while it is not readable */
  readonly chunk: Chunk;
  /** False while its bytes are damaged; then it waits until it is uploaded again. */
  readonly isReadable: boolean;
  readonly stamp: Stamp;
}

export type PushOutcome = 'synced' | 'kept' | 'stored' | 'dropped';

export interface UploadStore {
  openSession(tagUid: number): UploadSession;
  /** Pending pushes of closed sessions in upload order, from `afterSequence` on, at most `limit`. */
  pending(afterSequence: number, limit: number): PendingPush[];
  pendingCount(): number;
  /** A delivery was written to a peer (`sent` + 1 while the chunk still waits). */
  sent(push: PendingPush): void;
  /**
   * Removes the pending push and counts: synced; kept, which is synced to others while the own reserve has it too;
   * stored, in the own reserve alone (also synced); dropped (no counter). Idempotent.
   */
  report(push: PendingPush, outcome: PushOutcome): Promise<void>;
  /** Called when a session closed, so that the pusher looks again. */
  onPushable(listener: () => void): void;
  /** No longer serves what it has just handed over under these batches. @param isGone of a batch id, 32 bytes */
  forgetBatches(isGone: (batchId: Uint8Array) => boolean): void;
  totals(): { uploaded: number; synced: number; pending: number };
}

export class ReserveOverwriteError extends Error {
  readonly code = 'OVERWRITE_NEWER';

  constructor(message: string) {
    super(message);
    this.name = 'ReserveOverwriteError';
  }
}

/** A chunk under one stamp. 32 bytes each. */
export interface ReserveEntry {
  readonly address: Uint8Array;
  readonly batchId: Uint8Array;
  readonly stampHash: Uint8Array;
}

/** An entry with its place in its bin of the reserve, from 1. */
export interface ReserveItem extends ReserveEntry {
  readonly binId: bigint;
}

/** Chunks received for storage, with their stamps. Bin of a chunk: proximity order of its address and the overlay. */
export interface Reserve {
  /** Rules of `node-behaviour.md` 2.5. Resolves when durable. @throws ReserveOverwriteError for an older stamp on a used index */
  put(chunk: Chunk, stamp: Stamp): Promise<void>;
  has(address: Uint8Array, batchId: Uint8Array, stampHash: Uint8Array): boolean;
  /** A chunk with the stamp under which it is held. */
  load(
    address: Uint8Array,
    batchId: Uint8Array,
    stampHash: Uint8Array,
  ): { chunk: Chunk; stamp: Stamp } | undefined;
  /** Entries of a bin with `binId >= fromBinId`, ascending, at most `limit`. Ids of what has left are missing. */
  items(bin: number, fromBinId: bigint, limit: number): ReserveItem[];
  /**
   * Takes entries of a batch out, in one transaction of bounded size. Bytes that no other store holds go with them.
   * @returns how many have left, 0 when the batch has none
   */
  evictBatch(batchId: Uint8Array): Promise<number>;
  /**
   * Takes these entries out, those that are there and lie below the radius, in one transaction. Bytes that no other
   * store holds go with them. @returns how many have left
   */
  release(entries: readonly ReserveEntry[]): Promise<number>;
  /**
   * Whether a chunk may still be put: while the reserve is below its capacity; beyond that only within the radius, as
   * long as what is within it fits: the rest is there to leave. Never while the disk is full. `put` itself does not
   * ask for capacity.
   */
  hasRoomFor(address: Uint8Array): boolean;
  /** Whether a chunk is held under this index of a batch: a newer stamp replaces it and needs no room. */
  hasIndex(stamp: Pick<Stamp, 'batchId' | 'index'>): boolean;
  /** Called by every put from which on there is no more room within the radius. @returns ends the calls */
  onOverflow(listener: () => void): () => void;
  /** Batches that have entries, ascending, at most `limit` of those behind `after`. Leaves other work its turn. */
  batches(after: Uint8Array | undefined, limit: number): Promise<Uint8Array[]>;
  /** Called with the bin for every new entry of it, once it can be seen. @returns ends the calls */
  onPut(listener: (bin: number) => void): () => void;
  /** Number of (chunk, batch, stamp) entries. */
  size(): number;
  sizeWithinRadius(): number;
  /** Entries in the bins from one on. */
  sizeFrom(firstBin: number): number;
  /** Bin from which this node stores chunks. */
  radius(): number;
  /** Holds at once, and is durable when it resolves. @param radius 0..31 */
  setRadius(radius: number): Promise<void>;
  /** Called after every change of the radius. @returns ends the calls */
  onRadius(listener: (radius: number, before: number) => void): () => void;
  /** Highest bin id per bin, 32 entries, 0 for an empty bin. */
  lastBinIds(): bigint[];
  /** Unix seconds of the reserve's creation. */
  epoch(): bigint;
  capacity(): number;
  /** Whether what lies within the radius leaves no room, whatever the disk says. */
  overflows(): boolean;
}

/** Keeps chunks while the root that they belong to is not pinned yet; a crash before `done` undoes it at the next start. */
export interface PinSession {
  /** A chunk that is there twice is kept once. Back-pressured as in an upload session; errors surface here or in `done`. */
  put(chunk: Chunk): Promise<void>;
  /** The root is pinned, durably, when it resolves. One that is pinned already stays as it is. @param reference 32 or 64 bytes */
  done(reference: Uint8Array): Promise<void>;
  /** Takes back everything put; safe after a failed `put`. */
  cleanup(): Promise<void>;
}

/** What became of the chunks of a pinned root. */
export interface PinCheck {
  readonly total: number;
  /** Not there. */
  readonly missing: number;
  /** Their bytes cannot be read, or do not belong to their address. */
  readonly invalid: number;
}

/** Content that stays until it is unpinned, whatever the other stores do. A chunk below several roots is kept by each. */
export interface Pins {
  openSession(): PinSession;
  has(reference: Uint8Array): boolean;
  /** Root references, ascending, at most `limit` of those behind `after`. */
  list(after: Uint8Array | undefined, limit: number): Uint8Array[];
  /** Unpins; chunks that nobody else holds are gone when it resolves. @returns false for a root that is not pinned */
  remove(reference: Uint8Array): Promise<boolean>;
  /** Reads and hashes every chunk below a root, a page at a time; all zero for one that is not pinned. */
  check(reference: Uint8Array): Promise<PinCheck>;
  /** Chunks below several roots count for each of them. */
  totals(): { collections: number; chunks: number };
}

/** Chunks kept for repeated reads, least recently used first out. */
export interface Cache {
  /** Never waits for the disk; a failed write is logged and forgotten, the chunk is still on the network. */
  put(chunk: Chunk): void;
  size(): number;
  capacity(): number;
}

/**
 * Room on the disk. While there is none, what would keep a chunk throws StoreError `STORE_FULL`, and a write that does
 * not fit in any more rejects with it; reads and removals go on.
 */
export interface Disk {
  isFull(): boolean;
  /** @throws StoreError `STORE_FULL` */
  expect(): void;
}

/** What the chunks of all logical stores come to. */
export interface ChunkTotals {
  readonly chunks: number;
  /** Chunks that more than one holds. */
  readonly shared: number;
  readonly references: number;
}

export interface LocalStore {
  readonly chunks: ChunkReader;
  readonly damage: Damage;
  readonly disk: Disk;
  /** Looks at every chunk, a page at a time. */
  chunkTotals(): Promise<ChunkTotals>;
  readonly tags: TagStore;
  readonly uploads: UploadStore;
  readonly pins: Pins;
  readonly reserve: Reserve;
  readonly cache: Cache;
  /** Records of one subsystem, such as `addressbook`, `batches`, `stamps`, `accounting`. */
  state(subsystem: string): KeyValueStore;
  /** Waits for open writes and releases the files. */
  close(): Promise<void>;
}
