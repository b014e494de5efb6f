/**
 * Chunk bytes, once for all logical stores, with a reference count (`node-behaviour.md` 2.1). The bytes lie in a slot,
 * the record that names the slot in table `chunks`. A slot freed by a transaction is not given away again by the same
 * transaction: were it lost in a crash, the committed record would point at other bytes.
 */
import type { Chunk } from '../chunk/chunk.ts';
import type { Backend, TableReader, Transaction } from './backend.ts';
import { decodeNumber, END, encodeNumber, START, view } from './records.ts';

const SLOTS_USED = Buffer.from('slots');
const KINDS = ['cac', 'soc'] as const;

/** Layout of a record: slot 4, length 2, references 4, kind 1, identity 32 (single-owner chunks only). */
const LENGTH_OFFSET = 4;
const REFERENCES_OFFSET = 6;
const KIND_OFFSET = 10;
const IDENTITY_OFFSET = 11;
const IDENTITY_SIZE = 32;

interface ChunkRecord {
  readonly slot: number;
  readonly length: number;
  readonly references: number;
  readonly kind: Chunk['kind'];
  readonly identity: Uint8Array;
}

export class ChunkTable {
  readonly #backend: Backend;
  /** Saves a look at `freeSlots` for every chunk while none is freed. */
  #mayHaveFreeSlots = true;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  get(address: Uint8Array): Chunk | undefined {
    const record = this.#record(this.#backend, address);
    if (record === undefined) return undefined;
    const data = this.#backend.slots.read(record.slot, record.length);
    return { address: address.slice(), data, kind: record.kind, identity: record.identity };
  }

  has(address: Uint8Array): boolean {
    return this.#backend.has('chunks', address);
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
    const bytes = reader.get('chunks', address);
    if (bytes === undefined) return undefined;
    const record = view(bytes);
    const kind = KINDS[record[KIND_OFFSET]!]!;
    return {
      slot: record.readUInt32BE(0),
      length: record.readUInt16BE(LENGTH_OFFSET),
      references: record.readUInt32BE(REFERENCES_OFFSET),
      kind,
      identity: kind === 'cac' ? address.slice() : bytes.subarray(IDENTITY_OFFSET),
    };
  }

  #put(tx: Transaction, address: Uint8Array, record: ChunkRecord): void {
    const bytes = Buffer.allocUnsafe(
      record.kind === 'cac' ? IDENTITY_OFFSET : IDENTITY_OFFSET + IDENTITY_SIZE,
    );
    bytes.writeUInt32BE(record.slot, 0);
    bytes.writeUInt16BE(record.length, LENGTH_OFFSET);
    bytes.writeUInt32BE(record.references, REFERENCES_OFFSET);
    bytes[KIND_OFFSET] = KINDS.indexOf(record.kind);
    if (record.kind === 'soc') bytes.set(record.identity, IDENTITY_OFFSET);
    tx.put('chunks', address, bytes);
  }
}
