/** Chunks for repeated reads (`node-behaviour.md` 2.4); the least recently read goes first. */
import { toHex } from '../../formats/crypto/hex.ts';
import type { ChunkEvents } from '../env/chunk-events.ts';
import type { Logger } from '../env/logger.ts';
import type { Backend, TableReader, Transaction } from './backend.ts';
import type { ChunkTable } from './chunk-table.ts';
import { isDiskFailure } from './errors.ts';
import type { Cache, Disk } from './ports.ts';
import { decodeNumber, END, encodeNumber, START } from './records.ts';

/** One megabyte of chunks. Beyond it the disk is too slow for a cache to help. */
const OPEN_WRITES_MAX = 256;
/** Chunks per step of an oversized cache: a few ms. */
const EVICTED_PER_STEP = 64;
/** Hundreds may arrive in a turn. One more than needed, so that the cache shrinks. */
const EVICTED_PER_PUT = 2;
/** A crash loses the order of these reads. */
const TOUCHED_MAX = 256;
const SIZE = Buffer.from('cacheSize');

export interface ReadCache extends Cache {
  touch(address: Uint8Array): void;
}

interface CacheDeps {
  readonly backend: Backend;
  readonly chunks: ChunkTable;
  readonly disk: Disk;
  readonly log: Logger;
  readonly events?: ChunkEvents | undefined;
}

export function createCache(capacity: number, deps: CacheDeps): ReadCache {
  const { backend, chunks, disk, log, events } = deps;
  const newest = backend.last('cacheOrder', START, END);
  let nextPlace = newest === undefined ? 0 : decodeNumber(newest) + 1;
  let openWrites = 0;
  let touched = new Map<string, Uint8Array>();

  const place = (tx: Transaction, address: Uint8Array): void => {
    const at = encodeNumber(nextPlace);
    nextPlace += 1;
    tx.put('cache', address, at);
    tx.put('cacheOrder', at, address);
  };
  const reorder = (tx: Transaction, addresses: Iterable<Uint8Array>): void => {
    for (const address of addresses) {
      const old = tx.get('cache', address);
      if (old === undefined) continue;
      tx.remove('cacheOrder', old);
      place(tx, address);
    }
  };
  /** @returns the size left */
  const evict = (tx: Transaction, { arriving, most }: { arriving: number; most: number }): number => {
    const size = sizeOf(tx);
    const excess = Math.max(0, size + arriving - capacity);
    if (excess === 0) return size;
    const leaving = tx.scan('cacheOrder', START, END, Math.min(excess, most));
    for (const [at, address] of leaving) {
      tx.remove('cacheOrder', at);
      tx.remove('cache', address);
      events?.add('uncached', address);
      chunks.release(tx, address);
    }
    return size - leaving.length;
  };
  const shrink = async (): Promise<void> => {
    for (let size = sizeOf(backend); size > capacity; ) {
      const before = size;
      size = await backend.change((tx) => {
        const left = evict(tx, { arriving: 0, most: EVICTED_PER_STEP });
        setSize(tx, left);
        return left;
      });
      if (size === before) return;
    }
  };
  const takeTouched = (): Uint8Array[] => {
    const addresses = [...touched.values()];
    touched = new Map();
    return addresses;
  };

  // If it fails, later puts or the next start go on.
  shrink().catch((error: unknown) => log.debug({ err: error }, 'cache is still larger than its capacity'));

  return {
    capacity: () => capacity,
    size: () => sizeOf(backend),
    keepsAlone: (address) => backend.has('cache', address) && chunks.references(address) === 1,
    put(chunk) {
      if (capacity === 0 || openWrites >= OPEN_WRITES_MAX || disk.isFull()) return;
      openWrites += 1;
      const read = takeTouched();
      backend
        .change((tx) => {
          reorder(tx, read);
          if (tx.has('cache', chunk.address)) {
            chunks.restore(tx, chunk);
            return;
          }
          const left = evict(tx, { arriving: 1, most: EVICTED_PER_PUT });
          place(tx, chunk.address);
          events?.add('cached', chunk.address);
          chunks.retain(tx, chunk);
          setSize(tx, left + 1);
        })
        .catch((error: unknown) => {
          // Disk failures are logged by `disk/space.ts`.
          if (!isDiskFailure(error))
            log.warn({ err: error, chunk: toHex(chunk.address) }, 'chunk could not be cached');
        })
        .finally(() => {
          openWrites -= 1;
        });
    },
    touch(address) {
      if (capacity === 0) return;
      // Moves the key to the end of the map.
      const key = toHex(address);
      touched.delete(key);
      touched.set(key, address);
      if (touched.size < TOUCHED_MAX) return;
      const read = takeTouched();
      backend
        .change((tx) => reorder(tx, read))
        .catch((error: unknown) => log.warn({ err: error }, 'order of the cache could not be written'));
    },
  };
}

function sizeOf(reader: TableReader): number {
  const size = reader.get('meta', SIZE);
  return size === undefined ? 0 : decodeNumber(size);
}

function setSize(tx: Transaction, size: number): void {
  tx.put('meta', SIZE, encodeNumber(size));
}
