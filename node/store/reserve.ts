/** The reserve: chunks that this node stores for the network, with their stamps. Rules of `node-behaviour.md` 2.5. */
import { BINS, proximityOrder } from '../chunk/address.ts';
import type { Chunk } from '../chunk/chunk.ts';
import { decodeStamp, encodeStamp, type Stamp, stampHash } from '../chunk/stamp.ts';
import { toHex } from '../crypto/hex.ts';
import type { Clock } from '../env/clock.ts';
import type { Backend, TableReader, Transaction } from './backend.ts';
import type { ChunkTable } from './chunk-table.ts';
import { type Reserve, ReserveOverwriteError } from './ports.ts';
import { behind, decodeNumber, encodeNumber, encodeNumbers, join, NUMBER_SIZE } from './records.ts';

const EPOCH = Buffer.from('reserveEpoch');
const ADDRESS_SIZE = 32;
const TIMESTAMP_SIZE = 8;

export interface ReserveOptions {
  readonly reserveCapacity: number;
  /** Depth from which this node stores chunks. */
  readonly radius: number;
}

interface ReserveDeps {
  readonly backend: Backend;
  readonly chunks: ChunkTable;
  readonly overlay: Uint8Array;
}

/** One chunk under one stamp. */
interface Holding {
  readonly address: Uint8Array;
  readonly batchId: Uint8Array;
  readonly stampHash: Uint8Array;
}

interface Bin {
  readonly lastId: number;
  readonly count: number;
}

/** Opens the reserve; the first time, this is the beginning of its epoch. */
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
  return new StoredReserve({ ...options, epoch: BigInt(epoch) }, deps);
}

class StoredReserve implements Reserve {
  readonly #options: ReserveOptions & { readonly epoch: bigint };
  readonly #backend: Backend;
  readonly #chunks: ChunkTable;
  readonly #overlay: Uint8Array;

  constructor(options: ReserveOptions & { epoch: bigint }, { backend, chunks, overlay }: ReserveDeps) {
    this.#options = options;
    this.#backend = backend;
    this.#chunks = chunks;
    this.#overlay = overlay;
  }

  put(chunk: Chunk, stamp: Stamp): Promise<void> {
    const holding: Holding = { address: chunk.address, batchId: stamp.batchId, stampHash: stampHash(stamp) };
    return this.#backend.change((tx) => {
      if (tx.has('reserve', this.#key(holding))) return;
      const indexKey = join(stamp.batchId, stamp.index);
      const used = tx.get('stampIndex', indexKey);
      if (used === undefined) this.#chunks.retainLatest(tx, chunk);
      else this.#overwrite(tx, { used, chunk, stamp });
      this.#enter(tx, holding, stamp);
      tx.put('stampIndex', indexKey, join(stamp.timestamp, chunk.address, holding.stampHash));
    });
  }

  has(address: Uint8Array, batchId: Uint8Array, stampHash: Uint8Array): boolean {
    return this.#backend.has('reserve', this.#key({ address, batchId, stampHash }));
  }

  stamp(address: Uint8Array, batchId: Uint8Array): Stamp | undefined {
    const prefix = this.#key({ address, batchId, stampHash: new Uint8Array() });
    const entry = this.#backend.scan('reserve', prefix, behind(prefix), 1)[0];
    return entry === undefined ? undefined : decodeStamp(entry[1].subarray(NUMBER_SIZE));
  }

  size(): number {
    return this.#countFrom(0);
  }

  sizeWithinRadius(): number {
    return this.#countFrom(this.#options.radius);
  }

  lastBinIds(): bigint[] {
    return Array.from({ length: BINS }, (_, bin) => BigInt(binOf(this.#backend, bin).lastId));
  }

  radius(): number {
    return this.#options.radius;
  }

  epoch(): bigint {
    return this.#options.epoch;
  }

  capacity(): number {
    return this.#options.reserveCapacity;
  }

  /** The stamp's index is in use: the newer stamp wins, for every kind of batch, and the size stays. */
  #overwrite(
    tx: Transaction,
    { used, chunk, stamp }: { used: Uint8Array; chunk: Chunk; stamp: Stamp },
  ): void {
    const stored = used.subarray(0, TIMESTAMP_SIZE);
    if (Buffer.compare(stored, stamp.timestamp) >= 0) {
      const [previous, current] = [stored, stamp.timestamp].map((time) => BigInt(`0x${toHex(time)}`));
      throw new ReserveOverwriteError(
        `overwrite same chunk. prev ${previous} cur ${current} batch ${toHex(stamp.batchId)}: overwriting chunk with newer timestamp`,
      );
    }
    const address = used.subarray(TIMESTAMP_SIZE, TIMESTAMP_SIZE + ADDRESS_SIZE);
    const old: Holding = {
      address,
      batchId: stamp.batchId,
      stampHash: used.subarray(TIMESTAMP_SIZE + ADDRESS_SIZE),
    };
    this.#leave(tx, old);
    // In this order a chunk that keeps its address never loses its last reference.
    this.#chunks.retainLatest(tx, chunk);
    this.#chunks.release(tx, old.address);
  }

  #enter(tx: Transaction, holding: Holding, stamp: Stamp): void {
    const bin = this.#binOf(holding.address);
    const { lastId, count } = binOf(tx, bin);
    const id = lastId + 1;
    putBin(tx, bin, { lastId: id, count: count + 1 });
    tx.put('reserve', this.#key(holding), join(encodeNumber(id), encodeStamp(stamp)));
    tx.put('bins', binKey(bin, id), join(holding.address, holding.batchId, holding.stampHash));
  }

  #leave(tx: Transaction, holding: Holding): void {
    const key = this.#key(holding);
    const record = tx.get('reserve', key);
    if (record === undefined) return;
    const bin = this.#binOf(holding.address);
    const { lastId, count } = binOf(tx, bin);
    putBin(tx, bin, { lastId, count: count - 1 });
    tx.remove('reserve', key);
    tx.remove('bins', binKey(bin, decodeNumber(record)));
  }

  #countFrom(radius: number): number {
    let count = 0;
    for (let bin = radius; bin < BINS; bin++) count += binOf(this.#backend, bin).count;
    return count;
  }

  #binOf(address: Uint8Array): number {
    return proximityOrder(this.#overlay, address);
  }

  #key({ address, batchId, stampHash }: Holding): Uint8Array {
    return join(batchId, Uint8Array.of(this.#binOf(address)), address, stampHash);
  }
}

function binOf(reader: TableReader, bin: number): Bin {
  const record = reader.get('meta', binName(bin));
  if (record === undefined) return { lastId: 0, count: 0 };
  return { lastId: decodeNumber(record), count: decodeNumber(record, NUMBER_SIZE) };
}

function putBin(tx: Transaction, bin: number, { lastId, count }: Bin): void {
  tx.put('meta', binName(bin), encodeNumbers([lastId, count]));
}

function binName(bin: number): Uint8Array {
  return Buffer.from(`bin${bin}`);
}

function binKey(bin: number, id: number): Uint8Array {
  return join(Uint8Array.of(bin), encodeNumber(id));
}
