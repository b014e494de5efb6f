import { BINS, isResponsible, proximityOrder } from '../../../formats/chunk/address.ts';
import { ADDRESS_SIZE, type Chunk } from '../../../formats/chunk/chunk.ts';
import { decodeStamp, encodeStamp, type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import type { Clock } from '../../../formats/clock.ts';
import { fromBigEndian } from '../../../formats/crypto/big-endian.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import type { ChunkEvents } from '../../env/chunk-events.ts';
import type { Backend, Entry, Transaction } from '../backend.ts';
import type { ChunkTable } from '../chunk-table.ts';
import { StoreError } from '../errors.ts';
import {
  type Disk,
  type Reserve,
  type ReserveEntry,
  type ReserveItem,
  ReserveOverwriteError,
} from '../ports.ts';
import { behind, decodeNumber, END, encodeNumber, join, NUMBER_SIZE, START } from '../records.ts';
import {
  ADDRESS_OFFSET,
  BIN_OFFSET,
  enterStamp,
  leaveStamp,
  openAddressStamps,
  STAMP_HASH_OFFSET,
  stampsOf,
  sumWith,
} from './address-stamps.ts';
import { type Bin, type BinChanges, binIdOf, binKey, binRange, ReserveBins } from './bins.ts';

const EPOCH = Buffer.from('reserveEpoch');
const RADIUS = Buffer.from('reserveRadius');
const TIMESTAMP_SIZE = 8;
/** Entries per transaction: a few milliseconds. */
const EVICTED_MAX = 64;
const BATCH_GONE = 'its batch is used up or expired';
const HANDED_OVER = 'handed over: nodes that are closer hold it';

export interface ReserveOptions {
  readonly reserveCapacity: number;
  /** Radius of a new reserve; minimum for an existing one. */
  readonly radius: number;
  /** See `LocalStoreOptions`. */
  readonly convergent?: boolean;
}

interface ReserveDeps {
  readonly backend: Backend;
  readonly chunks: ChunkTable;
  readonly disk: Disk;
  readonly overlay: Uint8Array;
  readonly events?: ChunkEvents | undefined;
}

interface Found {
  readonly epoch: bigint;
  readonly radius: number;
}

/** The first time starts the epoch. */
export async function openReserve(
  options: ReserveOptions,
  deps: ReserveDeps & { clock: Clock },
): Promise<Reserve> {
  const { backend, clock } = deps;
  const epoch = await backend.change((tx) => {
    const stored = tx.get('meta', EPOCH);
    if (stored !== undefined) return decodeNumber(stored);
    const seconds = Math.floor(clock.now() / 1000);
    tx.put('meta', EPOCH, encodeNumber(seconds));
    return seconds;
  });
  const convergent = options.convergent === true;
  await openAddressStamps(backend, convergent);
  const radius = backend.get('meta', RADIUS);
  const found: Found = {
    epoch: BigInt(epoch),
    radius: Math.max(options.radius, radius === undefined ? 0 : decodeNumber(radius)),
  };
  return new StoredReserve({ capacity: options.reserveCapacity, convergent, ...found }, deps);
}

class StoredReserve implements Reserve {
  readonly #capacity: number;
  readonly #convergent: boolean;
  readonly #epoch: bigint;
  readonly #backend: Backend;
  readonly #chunks: ChunkTable;
  readonly #disk: Disk;
  readonly #overlay: Uint8Array;
  readonly #bins: ReserveBins;
  readonly #events: ChunkEvents | undefined;
  readonly #putListeners = new Set<(bin: number) => void>();
  readonly #overflowListeners = new Set<() => void>();
  readonly #radiusListeners = new Set<(radius: number, before: number) => void>();
  #radius: number;
  /** Uncommitted entries, by key and per bin. */
  readonly #arriving = new Set<string>();
  readonly #arrivingIn = new Uint32Array(BINS);

  constructor(
    { capacity, convergent, epoch, radius }: Found & { capacity: number; convergent: boolean },
    { backend, chunks, disk, overlay, events }: ReserveDeps,
  ) {
    this.#capacity = capacity;
    this.#convergent = convergent;
    this.#epoch = epoch;
    this.#radius = radius;
    this.#backend = backend;
    this.#chunks = chunks;
    this.#disk = disk;
    this.#overlay = overlay;
    this.#bins = new ReserveBins(backend);
    this.#events = events;
  }

  async put(chunk: Chunk, stamp: Stamp): Promise<void> {
    const holding: ReserveEntry = {
      address: chunk.address,
      batchId: stamp.batchId,
      stampHash: stampHash(stamp),
    };
    const landed = this.#arrives(holding);
    // A chunk that is here needs no room.
    if (landed !== undefined && this.#disk.isFull()) {
      landed();
      this.#disk.expect();
    }
    let changes: BinChanges | undefined;
    try {
      if (landed !== undefined && this.#isOverflowing())
        for (const listener of this.#overflowListeners) listener();
      changes = await this.#backend.change((tx) => this.#put(tx, holding, { chunk, stamp }));
    } finally {
      landed?.();
    }
    if (changes === undefined) return;
    this.#bins.committed(changes);
    const bin = this.#binOf(chunk.address);
    for (const listener of this.#putListeners) listener(bin);
  }

  has(address: Uint8Array, batchId: Uint8Array, stampHash: Uint8Array): boolean {
    return (
      this.#backend.has('reserve', this.#key({ address, batchId, stampHash })) &&
      !this.#chunks.isDamaged(address)
    );
  }

  sumOf(entry: ReserveEntry): Uint8Array | undefined {
    const wrapped = this.#chunks.wrapped(entry.address);
    return wrapped && sumWith(entry, wrapped);
  }

  entryOf(address: Uint8Array, sum: Uint8Array): ReserveEntry | undefined {
    const entries = stampsOf(this.#backend, address);
    const wrapped = entries.length === 0 ? undefined : this.#chunks.wrapped(address);
    return wrapped && entries.find((entry) => equalBytes(sumWith(entry, wrapped), sum));
  }

  load(
    address: Uint8Array,
    batchId: Uint8Array,
    stampHash: Uint8Array,
  ): { chunk: Chunk; stamp: Stamp } | undefined {
    const record = this.#backend.get('reserve', this.#key({ address, batchId, stampHash }));
    const chunk = record && this.#chunks.get(address);
    return chunk && { chunk, stamp: decodeStamp(record.subarray(NUMBER_SIZE)) };
  }

  items(bin: number, fromBinId: bigint, limit: number): ReserveItem[] {
    const { from, to } = binRange(bin, fromBinId);
    return this.#backend.scan('bins', from, to, limit).map(([key, value]) => ({
      binId: binIdOf(key),
      address: value.subarray(0, ADDRESS_SIZE),
      batchId: value.subarray(ADDRESS_SIZE, 2 * ADDRESS_SIZE),
      stampHash: value.subarray(2 * ADDRESS_SIZE),
    }));
  }

  evictBatch(batchId: Uint8Array): Promise<number> {
    return this.#takeOut(BATCH_GONE, (tx) => tx.scan('reserve', batchId, behind(batchId), EVICTED_MAX));
  }

  release(entries: readonly ReserveEntry[]): Promise<number> {
    const below = new Map<string, Uint8Array>();
    for (const entry of entries) {
      if (this.#isWithinRadius(entry.address)) continue;
      const key = this.#key(entry);
      // A second removal would take another entry's bytes.
      below.set(idOf(key), key);
    }
    if (below.size === 0) return Promise.resolve(0);
    return this.#takeOut(HANDED_OVER, (tx) =>
      [...below.values()].flatMap((key) => {
        const record = tx.get('reserve', key);
        return record === undefined ? [] : [[key, record] as const];
      }),
    );
  }

  hasIndex({ batchId, index }: Pick<Stamp, 'batchId' | 'index'>): boolean {
    return this.#backend.has('stampIndex', join(batchId, index));
  }

  overflows(): boolean {
    return this.#isOverflowing();
  }

  hasRoomFor(address: Uint8Array): boolean {
    if (this.#disk.isFull()) return false;
    if (this.#expectedFrom(0) < this.#capacity) return true;
    return this.#isWithinRadius(address) && !this.#isOverflowing();
  }

  batches(after: Uint8Array | undefined, limit: number): Promise<Uint8Array[]> {
    // As a change it waits for its turn.
    return this.#backend.change((tx) => {
      const found: Uint8Array[] = [];
      let from = after === undefined ? START : behind(after);
      while (found.length < limit) {
        const entry = tx.scan('reserve', from, END, 1)[0];
        if (entry === undefined) break;
        const batchId = entry[0].subarray(0, BIN_OFFSET);
        found.push(batchId);
        from = behind(batchId);
      }
      return found;
    });
  }

  onPut(listener: (bin: number) => void): () => void {
    this.#putListeners.add(listener);
    return () => this.#putListeners.delete(listener);
  }

  onOverflow(listener: () => void): () => void {
    this.#overflowListeners.add(listener);
    return () => this.#overflowListeners.delete(listener);
  }

  size(): number {
    return this.sizeFrom(0);
  }

  sizeWithinRadius(): number {
    return this.sizeFrom(this.#radius);
  }

  sizeFrom(firstBin: number): number {
    return this.#bins.count(firstBin);
  }

  lastBinIds(): bigint[] {
    return this.#bins.lastIds();
  }

  radius(): number {
    return this.#radius;
  }

  async setRadius(radius: number): Promise<void> {
    const before = this.#radius;
    this.#radius = radius;
    const written = this.#backend.change((tx) => tx.put('meta', RADIUS, encodeNumber(radius)));
    if (radius !== before) for (const listener of this.#radiusListeners) listener(radius, before);
    await written;
  }

  onRadius(listener: (radius: number, before: number) => void): () => void {
    this.#radiusListeners.add(listener);
    return () => this.#radiusListeners.delete(listener);
  }

  epoch(): bigint {
    return this.#epoch;
  }

  capacity(): number {
    return this.#capacity;
  }

  /** @returns undefined when the stamp was already there */
  #put(
    tx: Transaction,
    holding: ReserveEntry,
    { chunk, stamp }: { chunk: Chunk; stamp: Stamp },
  ): BinChanges | undefined {
    const held = { by: 'reserve', stamp } as const;
    if (tx.has('reserve', this.#key(holding))) {
      // Before it is restored: a damaged payload has no rank.
      if (this.#convergent && this.#chunks.supersede(tx, chunk, held))
        return this.#renewed(tx, chunk.address, new Map());
      this.#chunks.restore(tx, chunk);
      return undefined;
    }
    const indexKey = join(stamp.batchId, stamp.index);
    const used = tx.get('stampIndex', indexKey);
    const changes = new Map<number, Bin>();
    let kept: boolean;
    if (used === undefined) {
      kept = this.#chunks.retainChosen(tx, chunk, held);
    } else {
      const old = overwritten(used, { chunk, stamp }, this.#convergent);
      this.#leave(tx, old, changes);
      if (Buffer.compare(old.address, chunk.address) !== 0) this.#events?.add('replaced', old.address);
      // In this order a chunk at the same address never loses its last reference.
      kept = this.#chunks.retainChosen(tx, chunk, held);
      this.#chunks.release(tx, old.address);
    }
    // An upload may have brought the payload.
    if (kept && this.#convergent) this.#renewed(tx, chunk.address, changes);
    this.#enter(tx, { holding, stamp, changes });
    tx.put('stampIndex', indexKey, join(stamp.timestamp, chunk.address, holding.stampHash));
    return changes;
  }

  /** New bin ids for entries that may have another payload: peers do not know their sums. */
  #renewed(tx: Transaction, address: Uint8Array, changes: Map<number, Bin>): BinChanges {
    for (const holding of stampsOf(tx, address)) {
      const stamp = decodeStamp(this.#leave(tx, holding, changes).subarray(NUMBER_SIZE));
      this.#enter(tx, { holding, stamp, changes });
    }
    return changes;
  }

  #enter(
    tx: Transaction,
    { holding, stamp, changes }: { holding: ReserveEntry; stamp: Stamp; changes: Map<number, Bin> },
  ): void {
    const bin = this.#binOf(holding.address);
    const id = this.#bins.enter(tx, bin, changes);
    tx.put('reserve', this.#key(holding), join(encodeNumber(id), encodeStamp(stamp)));
    tx.put('bins', binKey(bin, id), join(holding.address, holding.batchId, holding.stampHash));
    if (this.#convergent) enterStamp(tx, holding);
  }

  #leave(tx: Transaction, holding: ReserveEntry, changes: Map<number, Bin>): Uint8Array {
    const key = this.#key(holding);
    const record = tx.get('reserve', key);
    if (record === undefined) {
      throw new StoreError('STORE_CORRUPT', `the reserve lacks chunk ${toHex(holding.address)} of its index`);
    }
    const bin = this.#binOf(holding.address);
    this.#bins.leave(tx, bin, 1, changes);
    tx.remove('reserve', key);
    tx.remove('bins', binKey(bin, decodeNumber(record)));
    if (this.#convergent) leaveStamp(tx, holding);
    return record;
  }

  /** @param choose records of `reserve` @returns how many were removed */
  async #takeOut(why: string, choose: (tx: Transaction) => readonly Entry[]): Promise<number> {
    const { taken, changes } = await this.#backend.change((tx) => this.#remove(tx, choose(tx), why));
    this.#bins.committed(changes);
    return taken;
  }

  #remove(tx: Transaction, entries: readonly Entry[], why: string): { taken: number; changes: BinChanges } {
    const leaving = new Map<number, number>();
    for (const [key, record] of entries) {
      const bin = key[BIN_OFFSET]!;
      leaving.set(bin, (leaving.get(bin) ?? 0) + 1);
      tx.remove('reserve', key);
      tx.remove('bins', binKey(bin, decodeNumber(record)));
      const { batchId, index } = decodeStamp(record.subarray(NUMBER_SIZE));
      tx.remove('stampIndex', join(batchId, index));
      const address = key.subarray(ADDRESS_OFFSET, STAMP_HASH_OFFSET);
      if (this.#convergent) leaveStamp(tx, { address, batchId, stampHash: key.subarray(STAMP_HASH_OFFSET) });
      this.#events?.add('evicted', address, { detail: why });
      this.#chunks.release(tx, address);
    }
    const changes = new Map<number, Bin>();
    for (const [bin, count] of leaving) this.#bins.leave(tx, bin, count, changes);
    return { taken: entries.length, changes };
  }

  /** Until its put is committed. @returns ends that; undefined for one already counted */
  #arrives(entry: ReserveEntry): (() => void) | undefined {
    const key = this.#key(entry);
    const id = idOf(key);
    if (this.#arriving.has(id) || this.#backend.has('reserve', key)) return undefined;
    const bin = key[BIN_OFFSET]!;
    this.#arriving.add(id);
    this.#arrivingIn[bin]! += 1;
    return () => {
      this.#arriving.delete(id);
      this.#arrivingIn[bin]! -= 1;
    };
  }

  /** With uncommitted ones: more would come meanwhile. */
  #expectedFrom(firstBin: number): number {
    let expected = this.sizeFrom(firstBin);
    for (let bin = firstBin; bin < BINS; bin++) expected += this.#arrivingIn[bin]!;
    return expected;
  }

  #isOverflowing(): boolean {
    return this.#expectedFrom(this.#radius) >= this.#capacity;
  }

  #isWithinRadius(address: Uint8Array): boolean {
    return isResponsible(this.#overlay, address, this.#radius);
  }

  #binOf(address: Uint8Array): number {
    return proximityOrder(this.#overlay, address);
  }

  #key({ address, batchId, stampHash }: ReserveEntry): Uint8Array {
    return join(batchId, Uint8Array.of(this.#binOf(address)), address, stampHash);
  }
}

function idOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1');
}

/**
 * A stamp's index is in use: the newer stamp wins; of equally new ones the first, or in a `convergent` store the lower
 * address, then the lower hash. @param used record of the stamp index
 * @returns the entry to remove @throws ReserveOverwriteError when it stays
 */
function overwritten(
  used: Uint8Array,
  { chunk, stamp }: { readonly chunk: Chunk; readonly stamp: Stamp },
  convergent: boolean,
): ReserveEntry {
  const { batchId, timestamp } = stamp;
  const stored = used.subarray(0, TIMESTAMP_SIZE);
  const newer = Buffer.compare(timestamp, stored);
  const isLower = () =>
    Buffer.compare(join(chunk.address, stampHash(stamp)), used.subarray(TIMESTAMP_SIZE)) < 0;
  if (newer < 0 || (newer === 0 && !(convergent && isLower()))) {
    const [previous, current] = [stored, timestamp].map((time) => fromBigEndian(time));
    throw new ReserveOverwriteError(
      `overwrite same chunk. prev ${previous} cur ${current} batch ${toHex(batchId)}: overwriting chunk with newer timestamp`,
    );
  }
  const address = used.subarray(TIMESTAMP_SIZE, TIMESTAMP_SIZE + ADDRESS_SIZE);
  return { address, batchId, stampHash: used.subarray(TIMESTAMP_SIZE + ADDRESS_SIZE) };
}
