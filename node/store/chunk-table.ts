/**
 * Chunk bytes, stored once for all logical stores, with a reference count (`node-behaviour.md` 2.1). A transaction does not
 * reuse a slot that it freed: after a crash the committed record would name other bytes.
 *
 * A chunk with wrong bytes, found at a read, counts as missing in all logical stores; it keeps record and references until
 * it is put again.
 */
import { CHUNK_STORED_SIZE_MAX, type Chunk } from '../../formats/chunk/chunk.ts';
import { ChunkError } from '../../formats/chunk/errors.ts';
import { wrappedAddressOf } from '../../formats/chunk/soc.ts';
import { chunkFrom } from '../../formats/chunk/validate.ts';
import { equalBytes, toHex } from '../../formats/crypto/hex.ts';
import type { ChunkEvents } from '../env/chunk-events.ts';
import type { Logger } from '../env/logger.ts';
import type { Backend, Slots, TableReader, Transaction } from './backend.ts';
import {
  contentRange,
  dataIn,
  decodeHeld,
  encodeHeld,
  encodeSlot,
  HELD_RANGE,
  type Held,
  uncheckedData,
} from './disk/slot.ts';
import type { ChunkTotals, Damage } from './ports.ts';
import { decodeNumber, END, encodeNumber, encodeNumbers, join, NUMBER_SIZE, START } from './records.ts';
import type { PayloadRule, PayloadRules } from './reserve/payloads.ts';

/** Records between two turns of other work. */
const COUNTED_MAX = 1024;
const SLOTS_USED = Buffer.from('slots');
const NONE = new Uint8Array();
const KINDS = ['cac', 'soc'] as const;

/** Record: slot, length, references, kind 1, identity 32 (single-owner chunks only). */
const KIND_OFFSET = 3 * NUMBER_SIZE;
const IDENTITY_OFFSET = KIND_OFFSET + 1;

interface ChunkRecord {
  readonly slot: number;
  readonly length: number;
  readonly references: number;
  readonly kind: Chunk['kind'];
  readonly identity: Uint8Array;
}

export class ChunkTable implements Damage {
  readonly #backend: Backend;
  readonly #log: Logger;
  readonly #events: ChunkEvents | undefined;
  readonly #payloads: PayloadRules;
  /** Saves a read of `freeSlots` per chunk. */
  #mayHaveFreeSlots = true;
  /** Saves a read of `damaged` per chunk. */
  #mayHaveDamage = true;
  /** Found but not marked yet; by hex address. */
  readonly #marking = new Set<string>();
  readonly #damageListeners = new Set<(address: Uint8Array) => void>();
  readonly #healListeners = new Set<(address: Uint8Array) => void>();

  /** @param deps.payloads which payload under one address is kept */
  constructor(deps: {
    backend: Backend;
    log: Logger;
    payloads: PayloadRules;
    events?: ChunkEvents | undefined;
  }) {
    this.#backend = deps.backend;
    this.#payloads = deps.payloads;
    this.#log = deps.log;
    this.#events = deps.events;
  }

  /** Undefined also when the bytes are damaged. */
  get(wanted: Uint8Array): Chunk | undefined {
    const address = new Uint8Array(wanted);
    const record = recordOf(this.#backend, address);
    if (record === undefined || this.#isMarked(this.#backend, address)) return undefined;
    const data = bytesOf(this.#backend.slots, address, record);
    if (data !== undefined) return { address, data, kind: record.kind, identity: record.identity };
    this.#mark(address, record.slot);
    return undefined;
  }

  /** Empty for a content-addressed chunk; undefined when it cannot be read. */
  wrapped(address: Uint8Array): Uint8Array | undefined {
    const kind = this.isDamaged(address) ? undefined : recordOf(this.#backend, address)?.kind;
    if (kind !== 'soc') return kind && NONE;
    const chunk = this.get(address);
    return chunk && wrappedAddressOf(chunk.data);
  }

  isDamaged(address: Uint8Array): boolean {
    return this.#isMarked(this.#backend, address);
  }

  /** Reads and checks the bytes. */
  isReadable(address: Uint8Array): boolean {
    return this.get(address) !== undefined;
  }

  isRecorded(address: Uint8Array): boolean {
    return this.#backend.has('chunks', address);
  }

  references(address: Uint8Array): number {
    return recordOf(this.#backend, address)?.references ?? 0;
  }

  damaged(limit: number): Uint8Array[] {
    return this.#backend.scan('damaged', START, END, limit).map(([address]) => address);
  }

  onDamaged(listener: (address: Uint8Array) => void): () => void {
    this.#damageListeners.add(listener);
    return () => this.#damageListeners.delete(listener);
  }

  onHealed(listener: (address: Uint8Array) => void): () => void {
    this.#healListeners.add(listener);
    return () => this.#healListeners.delete(listener);
  }

  heal(chunk: Chunk): void {
    if (!this.#isMarked(this.#backend, chunk.address)) return;
    this.#backend
      .change((tx) => this.restore(tx, chunk))
      .catch((err: unknown) =>
        this.#log.warn({ err, chunk: toHex(chunk.address) }, 'damaged chunk could not be repaired'),
      );
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

  /** The first reference stores the bytes; later ones keep them, if they are intact. */
  retain(tx: Transaction, chunk: Chunk, held?: Held): void {
    const record = this.#restored(tx, chunk);
    if (record === undefined) {
      this.#store(tx, chunk, { references: 1, held });
      return;
    }
    if (held !== undefined) this.#backend.slots.write(record.slot, encodeHeld(held));
    this.#put(tx, chunk.address, { ...record, references: record.references + 1 });
  }

  /**
   * Adds a reference; the rule chooses between two payloads of a single-owner chunk, unless the stored one is damaged.
   * @returns whether the payload is a single-owner chunk's and is kept
   */
  retainChosen(tx: Transaction, chunk: Chunk, held: Held): boolean {
    if (chunk.kind === 'soc' && this.#stays(this.#payloads[held.by], { tx, chunk, held })) {
      this.retain(tx, chunk);
      return equalBytes(recordOf(tx, chunk.address)!.identity, chunk.identity);
    }
    this.replace(tx, chunk);
    this.retain(tx, chunk, held);
    return chunk.kind === 'soc';
  }

  /**
   * Replaces the bytes of a stored single-owner chunk, unless they are intact and the rule chooses them. Keeps the
   * references.
   * @returns false when nothing has changed
   */
  supersede(tx: Transaction, chunk: Chunk, held: Held): boolean {
    const record = chunk.kind === 'soc' ? recordOf(tx, chunk.address) : undefined;
    if (record === undefined || equalBytes(record.identity, chunk.identity)) return false;
    if (this.#stays(this.#payloads.reserve, { tx, chunk, held })) return false;
    this.replace(tx, chunk, held);
    return true;
  }

  #stays(
    rule: PayloadRule,
    { tx, chunk, held: { stamp } }: { tx: Transaction; chunk: Chunk; held: Held },
  ): boolean {
    const { address, data } = chunk;
    const record = recordOf(tx, address);
    if (record === undefined || this.#isMarked(tx, address)) return false;
    const held = this.#heldIn(record.slot);
    // Read only if the stamps do not decide.
    const stored = () => bytesOf(this.#backend.slots, address, record);
    const wrapped = () => wrappedAddressOf(stored() ?? data);
    const incoming = { stamp, wrapped: () => wrappedAddressOf(data) };
    return held !== undefined && rule({ stamp: held.stamp, wrapped }, incoming) && stored() !== undefined;
  }

  /** Makes a stored chunk intact; keeps its references. */
  restore(tx: Transaction, chunk: Chunk): void {
    this.#restored(tx, chunk);
  }

  replace(tx: Transaction, chunk: Chunk, held?: Held): void {
    if (chunk.kind !== 'soc') return;
    const record = recordOf(tx, chunk.address);
    if (record === undefined) return;
    this.#free(tx, record.slot);
    this.#unmark(tx, chunk.address);
    this.#store(tx, chunk, { references: record.references, held });
  }

  /** The last reference takes the bytes with it. Unknown addresses are ignored. */
  release(tx: Transaction, address: Uint8Array): void {
    const record = recordOf(tx, address);
    if (record === undefined) return;
    if (record.references > 1) {
      this.#put(tx, address, { ...record, references: record.references - 1 });
      return;
    }
    this.#events?.add('deleted', address);
    tx.remove('chunks', address);
    this.#unmark(tx, address);
    this.#free(tx, record.slot);
  }

  #store(tx: Transaction, chunk: Chunk, terms: { references: number; held?: Held | undefined }): void {
    const slot = this.#takeSlot(tx);
    this.#backend.slots.write(slot, encodeSlot(chunk, terms.held));
    const { kind, identity } = chunk;
    const { references } = terms;
    this.#put(tx, chunk.address, { slot, length: chunk.data.length, references, kind, identity });
  }

  /** @returns the record of the now intact chunk */
  #restored(tx: Transaction, chunk: Chunk): ChunkRecord | undefined {
    const { address, data, kind, identity } = chunk;
    const record = recordOf(tx, address);
    if (record === undefined) return undefined;
    if (this.#isIntact(tx, address, record)) return record;
    // A write replaces an unreadable sector. The stamp has its own checksum, but did not bring another payload.
    const held = equalBytes(record.identity, identity) ? this.#heldIn(record.slot) : undefined;
    this.#backend.slots.write(record.slot, encodeSlot(chunk, held));
    const restored = { ...record, length: data.length, kind, identity };
    this.#put(tx, address, restored);
    this.#unmark(tx, address);
    this.#log.info({ chunk: toHex(address) }, 'damaged chunk repaired');
    for (const listener of this.#healListeners) listener(address);
    return restored;
  }

  #isIntact(tx: Transaction, address: Uint8Array, record: ChunkRecord): boolean {
    return !this.#isMarked(tx, address) && bytesOf(this.#backend.slots, address, record) !== undefined;
  }

  /** Undefined when nobody brought the chunk with a stamp, or that is damaged. */
  #heldIn(slot: number): Held | undefined {
    const start = this.#backend.slots.read(slot, HELD_RANGE);
    return start && decodeHeld(start);
  }

  #isMarked(reader: TableReader, address: Uint8Array): boolean {
    if (!this.#mayHaveDamage) return false;
    if (reader.has('damaged', address)) return true;
    this.#mayHaveDamage = this.#marking.size > 0 || reader.scan('damaged', START, END, 1).length > 0;
    return this.#marking.has(toHex(address));
  }

  /** The mark also survives a restart. */
  #mark(address: Uint8Array, slot: number): void {
    const key = toHex(address);
    this.#mayHaveDamage = true;
    this.#marking.add(key);
    this.#log.error({ chunk: key, slot }, 'stored chunk is damaged, it counts as missing');
    this.#backend
      .change((tx) => {
        const record = this.#marking.has(key) ? recordOf(tx, address) : undefined;
        if (record?.slot === slot) tx.put('damaged', address, NONE);
      })
      .catch((err: unknown) => this.#log.warn({ err, chunk: key }, 'damaged chunk could not be marked'))
      .finally(() => this.#marking.delete(key));
    for (const listener of this.#damageListeners) listener(address);
  }

  #unmark(tx: Transaction, address: Uint8Array): void {
    if (!this.#mayHaveDamage) return;
    this.#marking.delete(toHex(address));
    tx.remove('damaged', address);
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

  #put(tx: Transaction, address: Uint8Array, record: ChunkRecord): void {
    const { slot, length, references, kind } = record;
    const identity = kind === 'cac' ? NONE : record.identity;
    const numbers = encodeNumbers([slot, length, references]);
    tx.put('chunks', address, join(numbers, Uint8Array.of(KINDS.indexOf(kind)), identity));
  }
}

function isChunk(address: Uint8Array, data: Uint8Array): boolean {
  try {
    chunkFrom(address, data);
    return true;
  } catch (error) {
    if (error instanceof ChunkError) return false;
    throw error;
  }
}

/** What `get` would find, without marking anything. */
export function isStored(
  { reader, slots }: { reader: Pick<TableReader, 'get' | 'has'>; slots: Slots },
  address: Uint8Array,
): boolean {
  const record = recordOf(reader, address);
  return (
    record !== undefined && !reader.has('damaged', address) && bytesOf(slots, address, record) !== undefined
  );
}

function recordOf(reader: Pick<TableReader, 'get'>, address: Uint8Array): ChunkRecord | undefined {
  const record = reader.get('chunks', address);
  if (record === undefined) return undefined;
  // An invalid kind fails the checksum like other damage.
  const kind = KINDS[record[KIND_OFFSET]!] ?? 'cac';
  return {
    slot: decodeNumber(record),
    length: decodeNumber(record, NUMBER_SIZE),
    references: decodeNumber(record, 2 * NUMBER_SIZE),
    kind,
    identity: kind === 'cac' ? address : record.subarray(IDENTITY_OFFSET),
  };
}

function bytesOf(slots: Slots, address: Uint8Array, { slot, length }: ChunkRecord): Uint8Array | undefined {
  // A damaged record must not make the node read gigabytes.
  if (length > CHUNK_STORED_SIZE_MAX) return undefined;
  const content = slots.read(slot, contentRange(length));
  if (content === undefined) return undefined;
  const data = dataIn(content, address);
  if (data !== undefined) return data;
  // The checksum may be what is damaged.
  const unchecked = uncheckedData(content);
  return isChunk(address, unchecked) ? unchecked : undefined;
}
