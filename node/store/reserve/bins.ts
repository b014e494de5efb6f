/**
 * The bins of the reserve: how many entries each one has and the last number assigned, as records that change
 * with the entries. Committed counts are kept in memory, because every put asks for the size.
 */
import { BINS } from '../../chunk/address.ts';
import type { Backend, TableReader, Transaction } from '../backend.ts';
import { decodeNumber, encodeNumber, encodeNumbers, join, NUMBER_SIZE } from '../records.ts';

/** Highest number that a record can hold. */
const LAST_ID = 2 ** (8 * NUMBER_SIZE) - 1;

interface Bin {
  readonly lastId: number;
  readonly count: number;
}

/** Entries per bin that a transaction has changed, to be passed to `committed`. */
export type BinCounts = ReadonlyMap<number, number>;

export class ReserveBins {
  readonly #backend: Backend;
  readonly #counts: number[];

  constructor(backend: Backend) {
    this.#backend = backend;
    this.#counts = Array.from({ length: BINS }, (_, bin) => readBin(backend, bin).count);
  }

  /** Committed entries in the bins from `first` on. */
  count(first: number): number {
    let total = 0;
    for (let bin = first; bin < BINS; bin++) total += this.#counts[bin]!;
    return total;
  }

  lastIds(): bigint[] {
    return Array.from({ length: BINS }, (_, bin) => BigInt(readBin(this.#backend, bin).lastId));
  }

  /** Takes the next number of a bin for a new entry. */
  enter(tx: Transaction, bin: number): { id: number; count: number } {
    const { lastId, count } = readBin(tx, bin);
    writeBin(tx, bin, { lastId: lastId + 1, count: count + 1 });
    return { id: lastId + 1, count: count + 1 };
  }

  /** @returns entries left in the bin */
  leave(tx: Transaction, bin: number, entries: number): number {
    const { lastId, count } = readBin(tx, bin);
    writeBin(tx, bin, { lastId, count: count - entries });
    return count - entries;
  }

  /** Called in the order of the commits. */
  committed(counts: BinCounts): void {
    for (const [bin, count] of counts) this.#counts[bin] = count;
  }
}

/** Key in table `bins`. */
export function binKey(bin: number, id: number): Uint8Array {
  return join(Uint8Array.of(bin), encodeNumber(id));
}

/** Keys of a bin from an id on, as `from <= key < to`. */
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

function writeBin(tx: Transaction, bin: number, { lastId, count }: Bin): void {
  tx.put('meta', binName(bin), encodeNumbers([lastId, count]));
}

function binName(bin: number): Uint8Array {
  return Buffer.from(`bin${bin}`);
}
