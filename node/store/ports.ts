/**
 * What the layers above may do with the local store. One implementation on LMDB (`lmdb-store.ts`, one environment
 * per node) and one in memory for unit tests and the simulation (`memory-store.ts`). Reads are synchronous; writes
 * resolve when they are committed, that is, when they survive `kill -9`. Writes are committed in the order in which
 * they were issued, so waiting for the last one means waiting for all.
 */
import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { Stamp } from '../../formats/chunk/stamp.ts';

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
   * The stored chunk, or one that was handed over to a peer a moment ago, or undefined. The caller may keep
   * the bytes. They are as stored: a chunk with damaged bytes counts as missing.
   */
  get(address: Uint8Array): Chunk | undefined;
  /** Whether it is stored and readable. Checks the bytes. */
  has(address: Uint8Array): boolean;
  /** A chunk that came from elsewhere: written again if the stored one is known to be damaged. Never waits for the disk. */
  heal(chunk: Chunk): void;
}

/** Stored chunks whose bytes have been found to be wrong. They count as missing until they are put again. */
export interface Damage {
  /** Addresses, ascending. */
  damaged(limit: number): Uint8Array[];
  /** Called for each one when it is found. @returns ends the calls */
  onDamaged(listener: (address: Uint8Array) => void): () => void;
  /** Called for each one that has been put again. @returns ends the calls */
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
  /** Undoes every `put`; safe after a failed one. What a failing disk does not let it undo is undone later. */
  cleanup(): Promise<void>;
}

export interface PendingPush {
  /** Order of pushing. */
  readonly sequence: number;
  readonly tagUid: number;
  readonly address: Uint8Array;
  /** Read from the store on first access. @throws StoreError `STORE_CORRUPT` while it is not readable */
  readonly chunk: Chunk;
  /** False while its bytes are damaged; then it waits until it is uploaded again. */
  readonly isReadable: boolean;
  readonly stamp: Stamp;
}

export type PushOutcome = 'synced' | 'kept' | 'stored' | 'dropped';

export interface UploadStore {
  openSession(tagUid: number): UploadSession;
  /** Pending pushes of closed sessions in upload order, after `afterSequence`, at most `limit`. */
  pending(afterSequence: number, limit: number): PendingPush[];
  /** A delivery was written to a peer (`sent` + 1 while the chunk still waits). */
  sent(push: PendingPush): void;
  /**
   * Removes the pending push and counts: synced; kept, synced to others while our reserve has it too; stored,
   * in our reserve only (also synced); dropped (no counter). Idempotent. Does nothing to another single-owner chunk that
   * has taken its place meanwhile.
   */
  report(push: PendingPush, outcome: PushOutcome): Promise<void>;
  /** Called when a session has closed, or a chunk waits that no session announces, so that the pusher checks again. */
  onPushable(listener: () => void): void;
  /** Stops serving chunks just handed over under these batches. @param isGone of a batch id, 32 bytes */
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

/** An entry with its position in its bin of the reserve, from 1. */
export interface ReserveItem extends ReserveEntry {
  readonly binId: bigint;
}

/** Chunks received for storage, with their stamps. Bin of a chunk: proximity order of its address and the overlay. */
export interface Reserve {
  /** Rules of `node-behaviour.md` 2.5. Resolves when durable. @throws ReserveOverwriteError for an older stamp on a used index */
  put(chunk: Chunk, stamp: Stamp): Promise<void>;
  has(address: Uint8Array, batchId: Uint8Array, stampHash: Uint8Array): boolean;
  /** What tells an entry apart in pull syncing 2.0.0, 16 bytes; undefined when its chunk cannot be read. */
  sumOf(entry: ReserveEntry): Uint8Array | undefined;
  /** The entry with that sum. Only in a store that is opened as `convergent`. */
  entryOf(address: Uint8Array, sum: Uint8Array): ReserveEntry | undefined;
  /** A chunk with the stamp under which it is held. */
  load(
    address: Uint8Array,
    batchId: Uint8Array,
    stampHash: Uint8Array,
  ): { chunk: Chunk; stamp: Stamp } | undefined;
  /**
   * Entries of a bin with `binId >= fromBinId`, ascending, at most `limit`. Ids of removed entries are
   * missing.
   */
  items(bin: number, fromBinId: bigint, limit: number): ReserveItem[];
  /**
   * Removes entries of a batch, in one transaction of bounded size. Bytes that no other store holds go with
   * them.
   * @returns how many were removed, 0 when the batch has none
   */
  evictBatch(batchId: Uint8Array): Promise<number>;
  /**
   * Removes those of these entries that exist and lie below the radius, in one transaction. Bytes that no
   * other store holds go with them. @returns how many were removed
   */
  release(entries: readonly ReserveEntry[]): Promise<number>;
  /**
   * Whether a chunk may still be put: while the reserve is below its capacity; beyond that only within the radius, as
   * long as the chunks within it fit: the rest is going to leave. Never while the disk is full. `put` itself
   * does not check the capacity.
   */
  hasRoomFor(address: Uint8Array): boolean;
  /** Whether a chunk is held under this index of a batch: a newer stamp replaces it and needs no room. */
  hasIndex(stamp: Pick<Stamp, 'batchId' | 'index'>): boolean;
  /** Called by every put that leaves no more room within the radius. @returns ends the calls */
  onOverflow(listener: () => void): () => void;
  /** Batches that have entries, ascending, at most `limit` of those after `after`. Yields to other work. */
  batches(after: Uint8Array | undefined, limit: number): Promise<Uint8Array[]>;
  /** Called with the bin for every new entry, once it is visible. @returns ends the calls */
  onPut(listener: (bin: number) => void): () => void;
  /** Number of (chunk, batch, stamp) entries. */
  size(): number;
  sizeWithinRadius(): number;
  /** Entries in the bins from one on. */
  sizeFrom(firstBin: number): number;
  /** Bin from which this node stores chunks. */
  radius(): number;
  /** Takes effect at once, and is durable when it resolves. @param radius 0..31 */
  setRadius(radius: number): Promise<void>;
  /** Called after every change of the radius. @returns ends the calls */
  onRadius(listener: (radius: number, before: number) => void): () => void;
  /** Highest bin id per bin, 32 entries, 0 for an empty bin. */
  lastBinIds(): bigint[];
  /** Unix seconds of the reserve's creation. */
  epoch(): bigint;
  capacity(): number;
  /** Whether the chunks within the radius leave no room, regardless of the disk. */
  overflows(): boolean;
}

/** Keeps chunks while their root is not yet pinned; a crash before `done` undoes it at the next start. */
export interface PinSession {
  /**
   * A chunk put twice is kept once. Back-pressured as in an upload session; errors surface here or in `done`.
   */
  put(chunk: Chunk): Promise<void>;
  /**
   * The root is durably pinned when it resolves. One already pinned stays as it is. @param reference 32 or 64
   * bytes
   */
  done(reference: Uint8Array): Promise<void>;
  /** As that of an upload. */
  cleanup(): Promise<void>;
}

/** State of the chunks of a pinned root. */
export interface PinCheck {
  readonly total: number;
  /** Absent chunks. */
  readonly missing: number;
  /** Chunks whose bytes cannot be read, or do not match their address. */
  readonly invalid: number;
}

/** Content that stays until it is unpinned, whatever the other stores do. A chunk below several roots is kept by each. */
export interface Pins {
  openSession(): PinSession;
  has(reference: Uint8Array): boolean;
  /** Root references, ascending, at most `limit` of those after `after`. */
  list(after: Uint8Array | undefined, limit: number): Uint8Array[];
  /**
   * Unpins; chunks that nothing else holds are gone when it resolves. @returns false for a root that is not
   * pinned
   */
  remove(reference: Uint8Array): Promise<boolean>;
  /** Reads and hashes every chunk below a root, a page at a time; all zero for one that is not pinned. */
  check(reference: Uint8Array): Promise<PinCheck>;
  /** Chunks below several roots count for each of them. */
  totals(): { collections: number; chunks: number };
}

/** Chunks kept for repeated reads; least recently used ones are evicted first. */
export interface Cache {
  /** Never waits for the disk; a failed write is logged and forgotten, the chunk is still on the network. */
  put(chunk: Chunk): void;
  /** Whether nothing but the cache keeps the chunk: it came from the network, which may have a later one by now. */
  keepsAlone(address: Uint8Array): boolean;
  size(): number;
  capacity(): number;
}

/**
 * Room on the disk. While there is none, calls that would keep a chunk throw StoreError `STORE_FULL`, and a
 * write that no longer fits rejects with it; reads and removals continue.
 */
export interface Disk {
  isFull(): boolean;
  /** @throws StoreError `STORE_FULL` */
  expect(): void;
}

/** Totals of the chunks of all logical stores. */
export interface ChunkTotals {
  readonly chunks: number;
  /** Chunks held by more than one store. */
  readonly shared: number;
  readonly references: number;
}

export interface LocalStore {
  readonly chunks: ChunkReader;
  readonly damage: Damage;
  readonly disk: Disk;
  /** Reads every chunk's record, a page at a time. */
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
