/**
 * What other layers may do with the local store (`lmdb-store.ts`, `memory-store.ts`). Reads are synchronous. Writes resolve
 * when they survive `kill -9`, and are committed in order, so waiting for the last means waiting for all.
 */
import type { Chunk } from '../../formats/chunk/chunk.ts';
import type { Stamp } from '../../formats/chunk/stamp.ts';

/** Records of one subsystem. Keys sort bytewise. */
export interface KeyValueStore {
  get(key: string): Uint8Array | undefined;
  put(key: string, value: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** One transaction: all or nothing. */
  batch(changes: readonly KeyValueChange[]): Promise<void>;
  /** Ascending, as of now. */
  entries(prefix: string): Iterable<readonly [key: string, value: Uint8Array]>;
}

export type KeyValueChange =
  | { readonly put: string; readonly value: Uint8Array }
  | { readonly remove: string };

/** Each chunk is held once, with a reference count. */
export interface ChunkReader {
  /** Also a chunk handed over to a peer a moment ago. The caller may keep the bytes. */
  get(address: Uint8Array): Chunk | undefined;
  has(address: Uint8Array): boolean;
  /** Writes a chunk again if the stored one is known to be damaged. Never waits for the disk. */
  heal(chunk: Chunk): void;
}

/** They count as missing until put again. */
export interface Damage {
  damaged(limit: number): Uint8Array[];
  /** @returns ends the calls */
  onDamaged(listener: (address: Uint8Array) => void): () => void;
  /** @returns ends the calls */
  onHealed(listener: (address: Uint8Array) => void): () => void;
}

export interface Tag {
  readonly uid: number;
  readonly split: number;
  readonly seen: number;
  readonly stored: number;
  readonly sent: number;
  readonly synced: number;
  /** Root reference of the session, 32 bytes, or empty. */
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

/** Chunks are pushed after `done`; a crash before undoes the upload. */
export interface UploadSession {
  readonly tagUid: number;
  /** Waits only while too many writes are open. Errors surface here or in `done`. */
  put(chunk: Chunk, stamp: Stamp): Promise<void>;
  /** Waits for every write, sets split, seen and the address, hands the chunks to the pusher. Durable when it resolves. */
  done(reference?: Uint8Array): Promise<void>;
  /** Undoes every `put`, later if the disk refuses; safe after a failed one. */
  cleanup(): Promise<void>;
}

export interface PendingPush {
  readonly sequence: number;
  readonly tagUid: number;
  readonly address: Uint8Array;
  /** Read on first access. @throws StoreError `STORE_CORRUPT` while it is not readable */
  readonly chunk: Chunk;
  /** False while damaged; then it waits for another upload. */
  readonly isReadable: boolean;
  readonly stamp: Stamp;
}

export type PushOutcome = 'synced' | 'kept' | 'stored' | 'dropped';

export interface UploadStore {
  openSession(tagUid: number): UploadSession;
  /** Pushes of closed sessions, in upload order. */
  pending(afterSequence: number, limit: number): PendingPush[];
  /** Written to a peer: `sent` + 1 while the chunk waits. */
  sent(push: PendingPush): void;
  /**
   * Removes the pending push and counts: synced; kept, synced to others and in our reserve; stored, in our reserve only
   * (also synced); dropped (no counter). Idempotent. Spares a single-owner chunk that has taken its place.
   */
  report(push: PendingPush, outcome: PushOutcome): Promise<void>;
  /** The pusher must check again. */
  onPushable(listener: () => void): void;
  /** Stops serving their chunks just handed over. @param isGone of a batch id, 32 bytes */
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

/** 32 bytes each. */
export interface ReserveEntry {
  readonly address: Uint8Array;
  readonly batchId: Uint8Array;
  readonly stampHash: Uint8Array;
}

/** Position in its bin, from 1. */
export interface ReserveItem extends ReserveEntry {
  readonly binId: bigint;
}

/** Chunks stored for the network, with stamps. Bin: proximity order of address and overlay. */
export interface Reserve {
  /**
   * Rules: `node-behaviour.md` 2.5. Resolves when durable. @throws ReserveOverwriteError for an older stamp on a used index
   */
  put(chunk: Chunk, stamp: Stamp): Promise<void>;
  has(address: Uint8Array, batchId: Uint8Array, stampHash: Uint8Array): boolean;
  /** 16 bytes, tells entries apart in pull syncing 2.0.0; undefined when the chunk cannot be read. */
  sumOf(entry: ReserveEntry): Uint8Array | undefined;
  /** Only in a store opened as `convergent`. */
  entryOf(address: Uint8Array, sum: Uint8Array): ReserveEntry | undefined;
  load(
    address: Uint8Array,
    batchId: Uint8Array,
    stampHash: Uint8Array,
  ): { chunk: Chunk; stamp: Stamp } | undefined;
  /** Ascending from `fromBinId` on. Ids of removed entries are missing. */
  items(bin: number, fromBinId: bigint, limit: number): ReserveItem[];
  /**
   * One transaction of bounded size. Bytes that no other store holds go too. @returns how many were removed, 0 when the
   * batch has none
   */
  evictBatch(batchId: Uint8Array): Promise<number>;
  /**
   * Removes those that exist and lie below the radius, in one transaction. Bytes that no other store holds go too. @returns
   * how many
   */
  release(entries: readonly ReserveEntry[]): Promise<number>;
  /**
   * Below the capacity; beyond it only within the radius, as long as those chunks fit: the rest will leave. Never while the
   * disk is full. `put` does not check it.
   */
  hasRoomFor(address: Uint8Array): boolean;
  /** A newer stamp on a used index needs no room. */
  hasIndex(stamp: Pick<Stamp, 'batchId' | 'index'>): boolean;
  /** Called by puts that leave no room within the radius. @returns ends the calls */
  onOverflow(listener: () => void): () => void;
  batches(after: Uint8Array | undefined, limit: number): Promise<Uint8Array[]>;
  /** Called for every new visible entry. @returns ends the calls */
  onPut(listener: (bin: number) => void): () => void;
  /** (chunk, batch, stamp) entries. */
  size(): number;
  sizeWithinRadius(): number;
  /** Entries in the bins from one on. */
  sizeFrom(firstBin: number): number;
  radius(): number;
  /** Takes effect at once; durable when it resolves. @param radius 0..31 */
  setRadius(radius: number): Promise<void>;
  /** @returns ends the calls */
  onRadius(listener: (radius: number, before: number) => void): () => void;
  /** 32 entries, 0 for an empty bin. */
  lastBinIds(): bigint[];
  /** Unix seconds of the reserve's creation. */
  epoch(): bigint;
  capacity(): number;
  /** Within the radius, regardless of the disk. */
  overflows(): boolean;
}

/** Keeps chunks until their root is pinned; a crash before `done` undoes it. */
export interface PinSession {
  /** A chunk put twice is kept once. Waits and fails as in an upload session. */
  put(chunk: Chunk): Promise<void>;
  /** Durable when it resolves. A pinned root stays as it is. @param reference 32 or 64 bytes */
  done(reference: Uint8Array): Promise<void>;
  cleanup(): Promise<void>;
}

/** State of the chunks of a pinned root. */
export interface PinCheck {
  readonly total: number;
  readonly missing: number;
  /** Unreadable, or not matching the address. */
  readonly invalid: number;
}

/** Content kept until it is unpinned. Each root keeps its chunks. */
export interface Pins {
  openSession(): PinSession;
  has(reference: Uint8Array): boolean;
  list(after: Uint8Array | undefined, limit: number): Uint8Array[];
  /** Chunks that nothing else holds are gone when it resolves. @returns false when not pinned */
  remove(reference: Uint8Array): Promise<boolean>;
  /** Reads and hashes every chunk, page by page; all zero when not pinned. */
  check(reference: Uint8Array): Promise<PinCheck>;
  /** Shared chunks count for each. */
  totals(): { collections: number; chunks: number };
}

/** Least recently used chunks go first. */
export interface Cache {
  /** Never waits; a failed write is logged, the chunk is still on the network. */
  put(chunk: Chunk): void;
  /** Nothing else keeps the chunk: the network may have a later one. */
  keepsAlone(address: Uint8Array): boolean;
  size(): number;
  capacity(): number;
}

/**
 * Without room, calls that keep a chunk throw StoreError `STORE_FULL`, and writes that no longer fit reject with it; reads
 * and removals continue.
 */
export interface Disk {
  isFull(): boolean;
  /** @throws StoreError `STORE_FULL` */
  expect(): void;
}

export interface ChunkTotals {
  readonly chunks: number;
  /** Held by several stores. */
  readonly shared: number;
  readonly references: number;
}

export interface LocalStore {
  readonly chunks: ChunkReader;
  readonly damage: Damage;
  readonly disk: Disk;
  chunkTotals(): Promise<ChunkTotals>;
  readonly tags: TagStore;
  readonly uploads: UploadStore;
  readonly pins: Pins;
  readonly reserve: Reserve;
  readonly cache: Cache;
  state(subsystem: string): KeyValueStore;
  /** Waits for open writes first. */
  close(): Promise<void>;
}
