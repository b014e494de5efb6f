/**
 * Chunk bytes, once for all logical stores, with a reference count (`node-behaviour.md` 2.1). The bytes lie in a slot,
 * the record that names the slot in table `chunks`. A slot freed by a transaction is not given away again by the same
 * transaction: were it lost in a crash, the committed record would point at other bytes.
 */
import type { Chunk } from '../chunk/chunk.ts';
import type { ChunkEvents } from '../env/chunk-events.ts';
import type { Backend, TableReader, Transaction } from './backend.ts';
import type { ChunkTotals } from './ports.ts';
import { decodeNumber, END, encodeNumber, encodeNumbers, join, NUMBER_SIZE, START } from './records.ts';

/** Records counted between two turns of other work. */
const COUNTED_MAX = 1024;
const SLOTS_USED = Buffer.from('slots');
const NONE = new Uint8Array();
const KINDS = ['cac', 'soc'] as const;

/** Layout of a record: slot, length, references, kind 1, identity 32 (single-owner chunks only). */
const KIND_OFFSET = 3 * NUMBER_SIZE;
const IDENTITY_OFFSET = KIND_OFFSET + 1;

interface ChunkRecord {
  readonly slot: number;
  readonly length: number;
  readonly references: number;
  readonly kind: Chunk['kind'];
  readonly identity: Uint8Array;
}

export class ChunkTable {
  readonly #backend: Backend;
  readonly #events: ChunkEvents | undefined;
  /** Saves a look at `freeSlots` for every chunk while none is freed. */
  #mayHaveFreeSlots = true;

  constructor(backend: Backend, events?: ChunkEvents) {
    this.#backend = backend;
    this.#events = events;
  }

  get(wanted: Uint8Array): Chunk | undefined {
    const address = new Uint8Array(wanted);
    const record = this.#record(this.#backend, address);
    if (record === undefined) return undefined;
    const data = this.#backend.slots.read(record.slot, record.length);
    return { address, data, kind: record.kind, identity: record.identity };
  }

  has(address: Uint8Array): boolean {
    return this.#backend.has('chunks', address);
  }

  async totals(): Promise<ChunkTotals> {
    const totals = { chunks: 0, shared: 0, references: 0 };
    for (let from: Uint8Array = START; ; ) {
      // As a change it waits for its turn.
      const page = await this.#backend.change((tx) => tx.scan('chunks', from, END, COUNTED_MAX));
      for (const [, record] of page) {
        const references = decodeNumber(record, 2 * NUMBER_SIZE);
        totals.chunks += 1;
        totals.references += references;
        if (references > 1) totals.shared += 1;
      }
      const last = page.at(-1);
      if (last === undefined || page.length < COUNTED_MAX) return totals;
      from = join(last[0], START);
    }
  }

  /** Adds a reference; stores the bytes when it is the first one, keeps the stored ones otherwise. */
  retain(tx: Transaction, chunk: Chunk): void {
    const record = this.#record(tx, chunk.address);
    if (record === undefined) this.#store(tx, chunk, 1);
    else this.#put(tx, chunk.address, { ...record, references: record.references + 1 });
  }

  /** As `retain`, but the last writer of a single-owner chunk wins. */
  retainLatest(tx: Transaction, chunk: Chunk): void {
    this.replace(tx, chunk);
    this.retain(tx, chunk);
  }

  /** New bytes for a stored single-owner chunk. */
  replace(tx: Transaction, chunk: Chunk): void {
    if (chunk.kind !== 'soc') return;
    const record = this.#record(tx, chunk.address);
    if (record === undefined) return;
    this.#free(tx, record.slot);
    this.#store(tx, chunk, record.references);
  }

  /** Takes a reference away; with the last one the bytes go. Unknown addresses are nothing to release. */
  release(tx: Transaction, address: Uint8Array): void {
    const record = this.#record(tx, address);
    if (record === undefined) return;
    if (record.references > 1) {
      this.#put(tx, address, { ...record, references: record.references - 1 });
      return;
    }
    this.#events?.add('deleted', address);
    tx.remove('chunks', address);
    this.#free(tx, record.slot);
  }

  #store(tx: Transaction, chunk: Chunk, references: number): void {
    const slot = this.#takeSlot(tx);
    this.#backend.slots.write(slot, chunk.data);
    const { kind, identity } = chunk;
    this.#put(tx, chunk.address, { slot, length: chunk.data.length, references, kind, identity });
  }

  #takeSlot(tx: Transaction): number {
    if (this.#mayHaveFreeSlots) {
      const free = tx.scan('freeSlots', START, END, 1)[0];
      if (free === undefined) this.#mayHaveFreeSlots = false;
      else if (decodeNumber(free[1]) !== tx.id) {
        tx.remove('freeSlots', free[0]);
        return decodeNumber(free[0]);
      }
    }
    const used = tx.get('meta', SLOTS_USED);
    const slot = used === undefined ? 0 : decodeNumber(used);
    tx.put('meta', SLOTS_USED, encodeNumber(slot + 1));
    return slot;
  }

  #free(tx: Transaction, slot: number): void {
    tx.put('freeSlots', encodeNumber(slot), encodeNumber(tx.id));
    this.#mayHaveFreeSlots = true;
  }

  #record(reader: TableReader, address: Uint8Array): ChunkRecord | undefined {
    const record = reader.get('chunks', address);
    if (record === undefined) return undefined;
    const kind = KINDS[record[KIND_OFFSET]!]!;
    return {
      slot: decodeNumber(record),
      length: decodeNumber(record, NUMBER_SIZE),
      references: decodeNumber(record, 2 * NUMBER_SIZE),
      kind,
      identity: kind === 'cac' ? address : record.subarray(IDENTITY_OFFSET),
    };
  }

  #put(tx: Transaction, address: Uint8Array, record: ChunkRecord): void {
    const { slot, length, references, kind } = record;
    const identity = kind === 'cac' ? NONE : record.identity;
    const numbers = encodeNumbers([slot, length, references]);
    tx.put('chunks', address, join(numbers, Uint8Array.of(KINDS.indexOf(kind)), identity));
  }
}
