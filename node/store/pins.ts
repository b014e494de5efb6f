/**
 * Pinned content (`node-behaviour.md` 2.3): each entry holds one reference to a chunk below a root. While a collection is
 * filled or given up, a marker lies in `openPins`; at a start its collection is removed. A root changes in one transaction
 * with the marker: content is pinned completely or not at all.
 */
import assert from 'node:assert/strict';
import type { Chunk } from '../../formats/chunk/chunk.ts';
import { ChunkError } from '../../formats/chunk/errors.ts';
import { chunkFrom } from '../../formats/chunk/validate.ts';
import type { Logger } from '../env/logger.ts';
import type { Backend, TableReader, Transaction } from './backend.ts';
import type { ChunkTable } from './chunk-table.ts';
import type { Undoing } from './disk/undoing.ts';
import type { Disk, PinCheck, PinSession, Pins } from './ports.ts';
import {
  behind,
  decodeNumber,
  END,
  encodeNumber,
  encodeNumbers,
  join,
  NUMBER_SIZE,
  START,
} from './records.ts';
import { WriteBehind } from './write-behind.ts';

const FIRST_COLLECTION = 1;
/** Released per transaction, within milliseconds. */
const DISSOLVE_STEP = 256;
/** Chunks between two turns of other work: a few milliseconds. */
const CHECK_STEP = 64;
/** Longer references are never pinned. */
const REFERENCE_SIZE_MAX = 64;
const TOTALS = Buffer.from('pinTotals');
const NONE = new Uint8Array();

interface PinsDeps {
  readonly backend: Backend;
  readonly chunks: ChunkTable;
  readonly disk: Disk;
  readonly undoing: Undoing;
  readonly log: Logger;
}

interface Pinned {
  readonly collection: number;
  /** Each counted once. */
  readonly chunks: number;
}

/** Removes collections cut short by a crash, later if the disk takes no writes. */
export async function openPins(deps: PinsDeps): Promise<Pins> {
  const pins = new StoredPins(deps);
  for (const [key] of deps.backend.scan('openPins', START, END, Number.MAX_SAFE_INTEGER)) {
    const collection = decodeNumber(key);
    deps.log.info({ collection }, 'taking away a pin that was cut short');
    await pins.giveUp(collection);
  }
  return pins;
}

class StoredPins implements Pins {
  readonly #deps: PinsDeps;
  #nextCollection: number;

  constructor(deps: PinsDeps) {
    this.#deps = deps;
    const { backend } = deps;
    const keys = [backend.last('pinnedChunks', START, END), backend.last('openPins', START, END)];
    const used = keys.map((key) => (key === undefined ? 0 : decodeNumber(key)));
    // A pin may have no chunks.
    const pins = backend.scan('pins', START, END, Number.MAX_SAFE_INTEGER);
    const last = pins.reduce((most, [, record]) => Math.max(most, decodeNumber(record)), Math.max(...used));
    this.#nextCollection = Math.max(FIRST_COLLECTION, last + 1);
  }

  openSession(): PinSession {
    this.#deps.disk.expect();
    const collection = this.#nextCollection;
    this.#nextCollection += 1;
    return new StoredPinSession(collection, { ...this.#deps, pins: this });
  }

  has(reference: Uint8Array): boolean {
    return pinnedAt(this.#deps.backend, reference) !== undefined;
  }

  list(after: Uint8Array | undefined, limit: number): Uint8Array[] {
    const from = after === undefined ? START : join(after, START);
    return this.#deps.backend.scan('pins', from, END, limit).map(([reference]) => reference);
  }

  totals(): ReturnType<Pins['totals']> {
    return totalsOf(this.#deps.backend);
  }

  /** @returns false when the root is already pinned; then nothing changes */
  enter(reference: Uint8Array, pinned: Pinned): Promise<boolean> {
    return this.#deps.backend.change((tx) => {
      if (tx.has('pins', reference)) return false;
      tx.remove('openPins', encodeNumber(pinned.collection));
      tx.put('pins', reference, encodeNumbers([pinned.collection, pinned.chunks]));
      count(tx, { collections: 1, chunks: pinned.chunks });
      return true;
    });
  }

  async remove(reference: Uint8Array): Promise<boolean> {
    const collection = await this.#deps.backend.change((tx) => {
      const pinned = pinnedAt(tx, reference);
      if (pinned === undefined) return undefined;
      tx.remove('pins', reference);
      tx.put('openPins', encodeNumber(pinned.collection), NONE);
      count(tx, { collections: -1, chunks: -pinned.chunks });
      return pinned.collection;
    });
    if (collection === undefined) return false;
    await this.giveUp(collection);
    return true;
  }

  async check(reference: Uint8Array): Promise<PinCheck> {
    const { backend } = this.#deps;
    const result = { total: 0, missing: 0, invalid: 0 };
    const pinned = pinnedAt(backend, reference);
    if (pinned === undefined) return result;
    const prefix = encodeNumber(pinned.collection);
    for (let from = prefix; ; ) {
      // As a change it waits for its turn.
      const page = await backend.change((tx) =>
        tx
          .scan('pinnedChunks', from, behind(prefix), CHECK_STEP)
          .map(([key]) => ({ key, state: this.#stateOf(key.subarray(NUMBER_SIZE)) })),
      );
      for (const { state } of page) {
        result.total += 1;
        if (state !== 'valid') result[state] += 1;
      }
      const last = page.at(-1);
      if (last === undefined || page.length < CHECK_STEP) return result;
      from = join(last.key, START);
    }
  }

  /** Later if the disk takes no writes. */
  giveUp(collection: number): Promise<void> {
    return this.#deps.undoing.run(() => this.dissolve(collection));
  }

  /** In steps; the marker goes last, so that the next start continues after a crash. */
  async dissolve(collection: number): Promise<void> {
    const { backend } = this.#deps;
    const key = encodeNumber(collection);
    if (!backend.has('openPins', key)) return;
    while ((await backend.change((tx) => this.#dissolveStep(tx, key))) === DISSOLVE_STEP);
    await backend.change((tx) => tx.remove('openPins', key));
  }

  #dissolveStep(tx: Transaction, collection: Uint8Array): number {
    const entries = tx.scan('pinnedChunks', collection, behind(collection), DISSOLVE_STEP);
    for (const [key] of entries) {
      tx.remove('pinnedChunks', key);
      this.#deps.chunks.release(tx, key.subarray(NUMBER_SIZE));
    }
    return entries.length;
  }

  #stateOf(address: Uint8Array): 'valid' | 'missing' | 'invalid' {
    const { chunks } = this.#deps;
    const chunk = chunks.get(address);
    if (chunk === undefined) return chunks.isRecorded(address) ? 'invalid' : 'missing';
    try {
      chunkFrom(address, chunk.data);
      return 'valid';
    } catch (error) {
      if (error instanceof ChunkError) return 'invalid';
      throw error;
    }
  }
}

class StoredPinSession implements PinSession {
  readonly #collection: number;
  readonly #deps: PinsDeps & { readonly pins: StoredPins };
  readonly #writes: WriteBehind;
  #chunks = 0;
  #state: 'open' | 'ending' | 'done' = 'open';

  constructor(collection: number, deps: PinsDeps & { readonly pins: StoredPins }) {
    this.#collection = collection;
    this.#deps = deps;
    this.#writes = new WriteBehind(deps.backend);
  }

  async put(chunk: Chunk): Promise<void> {
    assert(this.#state === 'open', 'put after the end of a pin session');
    this.#deps.disk.expect();
    const marker = encodeNumber(this.#collection);
    const key = join(marker, chunk.address);
    await this.#writes.add(
      (tx) => {
        if (tx.has('pinnedChunks', key)) {
          this.#deps.chunks.restore(tx, chunk);
          return 0;
        }
        if (!tx.has('openPins', marker)) tx.put('openPins', marker, NONE);
        tx.put('pinnedChunks', key, NONE);
        this.#deps.chunks.retain(tx, chunk);
        return 1;
      },
      (added) => {
        this.#chunks += added;
      },
    );
  }

  async done(reference: Uint8Array): Promise<void> {
    assert(this.#state === 'open', 'pin session ends twice');
    await this.#writes.done();
    this.#state = 'ending';
    const { pins } = this.#deps;
    const entered = await pins.enter(reference, { collection: this.#collection, chunks: this.#chunks });
    if (!entered) await pins.giveUp(this.#collection);
    this.#state = 'done';
  }

  async cleanup(): Promise<void> {
    if (this.#state === 'done') return;
    this.#state = 'ending';
    await this.#writes.ended();
    await this.#deps.pins.giveUp(this.#collection);
  }
}

function pinnedAt(reader: TableReader, reference: Uint8Array): Pinned | undefined {
  const record = reference.length > REFERENCE_SIZE_MAX ? undefined : reader.get('pins', reference);
  return record && { collection: decodeNumber(record), chunks: decodeNumber(record, NUMBER_SIZE) };
}

type Totals = ReturnType<Pins['totals']>;

function totalsOf(reader: TableReader): Totals {
  const record = reader.get('meta', TOTALS);
  if (record === undefined) return { collections: 0, chunks: 0 };
  return { collections: decodeNumber(record), chunks: decodeNumber(record, NUMBER_SIZE) };
}

function count(tx: Transaction, change: Totals): void {
  const { collections, chunks } = totalsOf(tx);
  tx.put('meta', TOTALS, encodeNumbers([collections + change.collections, chunks + change.chunks]));
}
