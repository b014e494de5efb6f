/** Entries and last id of each bin. Committed state is kept in memory: every put and every peer asks. */
import { BINS } from '../../../formats/chunk/address.ts';
import type { Backend, TableReader, Transaction } from '../backend.ts';
import { decodeNumber, encodeNumber, encodeNumbers, join, NUMBER_SIZE } from '../records.ts';

const LAST_ID = 2 ** (8 * NUMBER_SIZE) - 1;

export interface Bin {
  readonly lastId: number;
  readonly count: number;
}

/** To be passed to `committed`. */
export type BinChanges = ReadonlyMap<number, Bin>;

export class ReserveBins {
  readonly #bins: Bin[];

  constructor(backend: Backend) {
    this.#bins = Array.from({ length: BINS }, (_, bin) => readBin(backend, bin));
  }

  count(first: number): number {
    let total = 0;
    for (let bin = first; bin < BINS; bin++) total += this.#bins[bin]!.count;
    return total;
  }

  lastIds(): bigint[] {
    return this.#bins.map(({ lastId }) => BigInt(lastId));
  }

  /** @returns the new bin id */
  enter(tx: Transaction, bin: number, changes: Map<number, Bin>): number {
    const { lastId, count } = readBin(tx, bin);
    change(tx, { bin, changes }, { lastId: lastId + 1, count: count + 1 });
    return lastId + 1;
  }

  /** @param entries leaving the bin */
  leave(tx: Transaction, bin: number, entries: number, changes: Map<number, Bin>): void {
    const { lastId, count } = readBin(tx, bin);
    change(tx, { bin, changes }, { lastId, count: count - entries });
  }

  /** In the order of the commits. */
  committed(changes: BinChanges): void {
    for (const [bin, state] of changes) this.#bins[bin] = state;
  }
}

export function binKey(bin: number, id: number): Uint8Array {
  return join(Uint8Array.of(bin), encodeNumber(id));
}

/** `from <= key < to`. */
export function binRange(bin: number, fromId: bigint): { from: Uint8Array; to: Uint8Array } {
  const to = Uint8Array.of(bin + 1);
  return { from: fromId > LAST_ID ? to : binKey(bin, Number(fromId)), to };
}

/** @param key of table `bins` */
export function binIdOf(key: Uint8Array): bigint {
  return BigInt(decodeNumber(key, 1));
}

function readBin(reader: TableReader, bin: number): Bin {
  const record = reader.get('meta', binName(bin));
  if (record === undefined) return { lastId: 0, count: 0 };
  return { lastId: decodeNumber(record), count: decodeNumber(record, NUMBER_SIZE) };
}

function change(
  tx: Transaction,
  { bin, changes }: { bin: number; changes: Map<number, Bin> },
  state: Bin,
): void {
  tx.put('meta', binName(bin), encodeNumbers([state.lastId, state.count]));
  changes.set(bin, state);
}

function binName(bin: number): Uint8Array {
  return Buffer.from(`bin${bin}`);
}
