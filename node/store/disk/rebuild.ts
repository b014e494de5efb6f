/**
 * Rebuilds an index from the readable part of the old one and from the slots. Old records stay; counters, bins, batch
 * indexes and free slots are derived again. A chunk without record is found in its slot; of several, the newest stamp
 * counts. Released chunks may lie in slots too, so an unreferenced chunk comes back only where such records were damaged.
 */
import { BINS, proximityOrder } from '../../../formats/chunk/address.ts';
import { ADDRESS_SIZE, type Chunk } from '../../../formats/chunk/chunk.ts';
import { ChunkError } from '../../../formats/chunk/errors.ts';
import { decodeStamp, encodeStamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import type { Backend, Entry, Table, TableReader, Transaction } from '../backend.ts';
import {
  BLOCK_SIZE,
  blockOf,
  decodeNumber,
  decodeNumbers,
  END,
  encodeNumber,
  encodeNumbers,
  join,
  NUMBER_SIZE,
  START,
} from '../records.ts';
import { unusedBlock } from '../uploads/push-queue.ts';
import { addressIn, decodeHeld, decodeSlot, HEAD_RANGE, HELD_RANGE, type Held, SLOT_SIZE } from './slot.ts';

/** Entries or slots per transaction, between two turns of other work. */
const STEP = 256;
const NONE = new Uint8Array();
const KINDS: readonly Chunk['kind'][] = ['cac', 'soc'];

const DERIVED = new Set<Table>([
  'freeSlots',
  'damaged',
  'bins',
  'stampIndex',
  'addressStamps',
  'uploads',
  'cacheOrder',
]);
/** Without its record the next start makes `addressStamps`. */
const DERIVED_RECORDS = ['slots', 'uploadTotals', 'pinTotals', 'cacheSize', 'lastTag', 'addressStamps'];

const [NAMED, FOUND] = [1, 2];

export interface Rebuilt {
  readonly chunks: number;
  readonly found: number;
  readonly lost: number;
  readonly pushes: number;
  readonly reserved: number;
}

export interface RebuildDeps {
  readonly backend: Backend;
  readonly salvaged: ReadonlyMap<string, readonly Entry[]>;
  /** Part of the table is lost. */
  readonly damaged: (table: Table) => boolean;
  /** Free ones included. */
  readonly slots: number;
  readonly overlay: Uint8Array;
}

export async function rebuildIndex(deps: RebuildDeps): Promise<Rebuilt> {
  return new Rebuild(deps).run();
}

class Rebuild {
  readonly #deps: RebuildDeps;
  readonly #state: Uint8Array;
  #found = 0;
  #lost = 0;
  #chunks = 0;
  #nextPush = 0;
  #pushes = 0;
  #reserved = 0;
  #free = 0;

  constructor(deps: RebuildDeps) {
    this.#deps = deps;
    this.#state = new Uint8Array(deps.slots);
  }

  async run(): Promise<Rebuilt> {
    await this.#takeOver();
    await this.#eachSlot((tx, slot) => this.#reviewSlot(tx, slot));
    await this.#eachSlot((tx, slot) => this.#restoreHeld(tx, slot));
    await this.#enterReserve();
    await this.#enterPushes();
    await this.#enterCache();
    await this.#countReferences();
    await this.#writeTotals();
    return {
      chunks: this.#chunks,
      found: this.#found,
      lost: this.#lost,
      pushes: this.#pushes,
      reserved: this.#reserved,
    };
  }

  async #takeOver(): Promise<void> {
    for (const [name, entries] of this.#deps.salvaged) {
      const table = name as Table;
      if (DERIVED.has(table)) continue;
      await this.#inSteps(entries, (tx, [key, value]) => {
        if (table === 'meta' && DERIVED_RECORDS.includes(Buffer.from(key).toString())) return;
        tx.put(table, key, value);
      });
    }
    // Recovered pushes form a session of their own.
    this.#nextPush = unusedBlock(this.#deps.backend) * BLOCK_SIZE;
  }

  async #eachSlot(change: (tx: Transaction, slot: number) => void): Promise<void> {
    const { backend, slots } = this.#deps;
    for (let first = 0; first < slots; first += STEP) {
      await backend.change((tx) => {
        for (let slot = first; slot < Math.min(first + STEP, slots); slot++) change(tx, slot);
      });
    }
  }

  /** A chunk's record names the slot with its bytes. */
  #reviewSlot(tx: Transaction, slot: number): void {
    const bytes = this.#deps.backend.slots.read(slot, { offset: 0, length: SLOT_SIZE });
    const content = bytes && decodeSlot(bytes);
    const chunk = content && chunkOf(content);
    if (chunk === undefined) return;
    const record = tx.get('chunks', chunk.address);
    const named = record && decodeNumber(record);
    if (named === slot) this.#state[slot] = NAMED;
    else if (named === undefined || !this.#holds(named, chunk.address)) this.#find(tx, slot, chunk);
    else if (this.#state[named] === FOUND && isNewer(content?.held, this.#heldIn(named))) {
      this.#state[named] = 0;
      this.#find(tx, slot, chunk);
    }
  }

  #find(tx: Transaction, slot: number, chunk: Chunk): void {
    const numbers = encodeNumbers([slot, chunk.data.length, 0]);
    const identity = chunk.kind === 'cac' ? NONE : chunk.identity;
    tx.put('chunks', chunk.address, join(numbers, Uint8Array.of(KINDS.indexOf(chunk.kind)), identity));
    this.#state[slot] = FOUND;
  }

  #heldIn(slot: number): Held | undefined {
    const bytes = this.#deps.backend.slots.read(slot, HELD_RANGE);
    return bytes && decodeHeld(bytes);
  }

  #holds(slot: number, address: Uint8Array): boolean {
    const bytes = this.#deps.backend.slots.read(slot, { offset: 0, length: SLOT_SIZE });
    const content = bytes && decodeSlot(bytes);
    return content !== undefined && Buffer.compare(content.address, address) === 0;
  }

  #restoreHeld(tx: Transaction, slot: number): void {
    if (this.#state[slot] === 0) return;
    if (this.#state[slot] === FOUND) this.#found++;
    const { damaged, backend } = this.#deps;
    const head = backend.slots.read(slot, HEAD_RANGE);
    const held = head && decodeHeld(head);
    if (held === undefined) return;
    const address = addressIn(head!);
    const { by, stamp } = held;
    if (by === 'upload' && (damaged('pushes') || damaged('blocks'))) {
      tx.put('pushes', encodeNumber(this.#nextPush), join(address, encodeNumber(0), encodeStamp(stamp)));
      this.#nextPush++;
    }
    if (by === 'reserve' && damaged('reserve')) {
      const key = this.#reserveKey(address, stamp);
      // Its place in the bin is assigned later.
      if (!tx.has('reserve', key)) tx.put('reserve', key, join(encodeNumber(0), encodeStamp(stamp)));
    }
  }

  #reserveKey(address: Uint8Array, stamp: Held['stamp']): Uint8Array {
    const bin = Uint8Array.of(proximityOrder(this.#deps.overlay, address));
    return join(stamp.batchId, bin, address, stampHash(stamp));
  }

  /** For a batch's index the newer stamp wins. */
  async #enterReserve(): Promise<void> {
    const { backend } = this.#deps;
    const lastIds = new Map<number, number>();
    for (const [key, record] of backend.scan('reserve', START, END, Number.MAX_SAFE_INTEGER)) {
      const bin = key[32]!;
      lastIds.set(bin, Math.max(lastIds.get(bin) ?? binCounter(backend, bin), decodeNumber(record)));
    }
    const counts = new Map<number, number>();
    await this.#eachOf('reserve', (tx, [key, record]) => {
      const bin = key[32]!;
      const stamp = decodeStamp(record.subarray(NUMBER_SIZE));
      const [address, hash] = [key.subarray(33, 65), key.subarray(65)];
      const indexKey = join(stamp.batchId, stamp.index);
      const used = tx.get('stampIndex', indexKey);
      if (used !== undefined) {
        if (Buffer.compare(used.subarray(0, 8), stamp.timestamp) >= 0) {
          tx.remove('reserve', key);
          return;
        }
        this.#leave(tx, { batchId: stamp.batchId, used, counts });
      }
      let id = decodeNumber(record);
      if (id === 0) {
        id = (lastIds.get(bin) ?? 0) + 1;
        lastIds.set(bin, id);
        tx.put('reserve', key, join(encodeNumber(id), record.subarray(NUMBER_SIZE)));
      }
      tx.put('bins', binKey(bin, id), join(address, stamp.batchId, hash));
      tx.put('stampIndex', indexKey, join(stamp.timestamp, address, hash));
      counts.set(bin, (counts.get(bin) ?? 0) + 1);
    });
    await backend.change((tx) => {
      for (let bin = 0; bin < BINS; bin++) {
        // Empty bins too go on from their last id.
        const lastId = lastIds.get(bin) ?? binCounter(tx, bin);
        if (lastId > 0) tx.put('meta', binName(bin), encodeNumbers([lastId, counts.get(bin) ?? 0]));
      }
    });
    this.#reserved = [...counts.values()].reduce((sum, count) => sum + count, 0);
  }

  #leave(
    tx: Transaction,
    { batchId, used, counts }: { batchId: Uint8Array; used: Uint8Array; counts: Map<number, number> },
  ): void {
    const [address, hash] = [used.subarray(8, 40), used.subarray(40)];
    const bin = proximityOrder(this.#deps.overlay, address);
    const key = join(batchId, Uint8Array.of(bin), address, hash);
    const record = tx.get('reserve', key);
    if (record === undefined) return;
    tx.remove('reserve', key);
    tx.remove('bins', binKey(bin, decodeNumber(record)));
    counts.set(bin, (counts.get(bin) ?? 1) - 1);
  }

  async #enterPushes(): Promise<void> {
    await this.#eachOf('pushes', (tx, [sequence, record]) => {
      const address = record.subarray(0, ADDRESS_SIZE);
      const { batchId } = decodeStamp(record.subarray(ADDRESS_SIZE + NUMBER_SIZE));
      const key = join(address, batchId);
      const entered = decodeNumbers(tx.get('uploads', key));
      // Beside one to be taken back it stays, as in the push queue.
      if (entered.some((other) => !isCutShort(tx, other))) {
        tx.remove('pushes', sequence);
        return;
      }
      tx.put('uploads', key, encodeNumbers([...entered, decodeNumber(sequence)]));
      const block = encodeNumber(blockOf(decodeNumber(sequence)));
      if (!tx.has('blocks', block)) tx.put('blocks', block, block);
      this.#pushes++;
    });
  }

  async #enterCache(): Promise<void> {
    await this.#eachOf('cache', (tx, [address, place]) => tx.put('cacheOrder', place, address));
  }

  /** Unreferenced chunks may be overwritten; missing ones are marked. */
  async #countReferences(): Promise<void> {
    const references = new Map<string, number>();
    const refer = (address: Uint8Array) => {
      const id = Buffer.from(address).toString('latin1');
      references.set(id, (references.get(id) ?? 0) + 1);
    };
    await this.#eachOf('pushes', (_, [, record]) => refer(record.subarray(0, ADDRESS_SIZE)));
    await this.#eachOf('pinnedChunks', (_, [key]) => refer(key.subarray(NUMBER_SIZE)));
    await this.#eachOf('reserve', (_, [key]) => refer(key.subarray(33, 65)));
    await this.#eachOf('cache', (_, [address]) => refer(address));
    const used = new Set<number>();
    await this.#eachOf('chunks', (tx, [address, record]) => {
      const id = Buffer.from(address).toString('latin1');
      const count = references.get(id) ?? 0;
      references.delete(id);
      if (count === 0) {
        tx.remove('chunks', address);
        return;
      }
      const slot = decodeNumber(record);
      used.add(slot);
      const numbers = encodeNumbers([slot, decodeNumber(record, NUMBER_SIZE), count]);
      tx.put('chunks', address, join(numbers, record.subarray(3 * NUMBER_SIZE)));
      if (this.#holds(slot, address)) this.#chunks++;
      else this.#markLost(tx, address);
    });
    await this.#inSteps([...references], (tx, [id, count]) => this.#enterLost(tx, { id, count, used }));
    await this.#giveFree(used);
  }

  /** Waits for its bytes in a slot of its own. */
  #enterLost(tx: Transaction, lost: { id: string; count: number; used: Set<number> }): void {
    const address = new Uint8Array(Buffer.from(lost.id, 'latin1'));
    const slot = this.#deps.slots + this.#free;
    this.#free++;
    lost.used.add(slot);
    tx.put('chunks', address, join(encodeNumbers([slot, 0, lost.count]), Uint8Array.of(0)));
    this.#markLost(tx, address);
  }

  #markLost(tx: Transaction, address: Uint8Array): void {
    tx.put('damaged', address, NONE);
    this.#lost++;
  }

  async #giveFree(used: ReadonlySet<number>): Promise<void> {
    const end = this.#deps.slots + this.#free;
    const free = Array.from({ length: end }, (_, slot) => slot).filter((slot) => !used.has(slot));
    await this.#inSteps(free, (tx, slot) => tx.put('freeSlots', encodeNumber(slot), encodeNumber(0)));
    await this.#deps.backend.change((tx) => tx.put('meta', Buffer.from('slots'), encodeNumber(end)));
  }

  async #writeTotals(): Promise<void> {
    const { backend, salvaged } = this.#deps;
    const old = new Map(
      (salvaged.get('meta') ?? []).map(([key, value]) => [Buffer.from(key).toString(), value]),
    );
    const uploads = old.get('uploadTotals') ?? encodeNumbers([0, 0, 0]);
    const pins = backend.scan('pins', START, END, Number.MAX_SAFE_INTEGER);
    const pinned = pins.reduce((sum, [, record]) => sum + decodeNumber(record, NUMBER_SIZE), 0);
    const cached = backend.scan('cache', START, END, Number.MAX_SAFE_INTEGER).length;
    const lastTag = backend.last('tags', START, END);
    const tag = Math.max(
      old.has('lastTag') ? decodeNumber(old.get('lastTag')!) : 0,
      lastTag === undefined ? 0 : decodeNumber(lastTag),
    );
    await backend.change((tx) => {
      const put = (name: string, value: Uint8Array) => tx.put('meta', Buffer.from(name), value);
      put('uploadTotals', join(uploads.subarray(0, 2 * NUMBER_SIZE), encodeNumber(this.#pushes)));
      put('pinTotals', encodeNumbers([pins.length, pinned]));
      put('cacheSize', encodeNumber(cached));
      if (tag > 0) put('lastTag', encodeNumber(tag));
    });
  }

  async #eachOf(table: Table, change: (tx: Transaction, entry: Entry) => void): Promise<void> {
    for (let from: Uint8Array = START; ; ) {
      const page = this.#deps.backend.scan(table, from, END, STEP);
      await this.#inSteps(page, change);
      const last = page.at(-1);
      if (last === undefined || page.length < STEP) return;
      from = join(last[0], START);
    }
  }

  async #inSteps<T>(items: readonly T[], change: (tx: Transaction, item: T) => void): Promise<void> {
    for (let first = 0; first < items.length; first += STEP) {
      const step = items.slice(first, first + STEP);
      await this.#deps.backend.change((tx) => {
        for (const item of step) change(tx, item);
      });
    }
  }
}

/** @param sequence in an entered block @returns whether its session is taken back at opening */
function isCutShort(reader: TableReader, sequence: number): boolean {
  return reader.has('openSessions', reader.get('blocks', encodeNumber(blockOf(sequence)))!);
}

function isNewer(held: Held | undefined, than: Held | undefined): boolean {
  if (held === undefined || than === undefined) return held !== undefined;
  return Buffer.compare(held.stamp.timestamp, than.stamp.timestamp) > 0;
}

function chunkOf({ address, data }: { address: Uint8Array; data: Uint8Array }): Chunk | undefined {
  try {
    return chunkFrom(address, data);
  } catch (error) {
    if (error instanceof ChunkError) return undefined;
    throw error;
  }
}

function binName(bin: number): Uint8Array {
  return Buffer.from(`bin${bin}`);
}

function binKey(bin: number, id: number): Uint8Array {
  return join(Uint8Array.of(bin), encodeNumber(id));
}

function binCounter(reader: TableReader, bin: number): number {
  const record = reader.get('meta', binName(bin));
  return record === undefined ? 0 : decodeNumber(record);
}
