import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../formats/clock.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { badDisk } from '../../../harness/flavours/tampered/disk.ts';
import type { DiskFault } from '../../../harness/flavours/tampered/settings.ts';
import type { Active } from '../../../harness/flavours/tampered/surroundings.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import type { Backend } from '../../../node/store/backend.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { LocalStoreOptions } from '../../../node/store/local-store.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';

const NOW = 1_700_000_000_123;
const clock = { ...systemClock(), now: () => NOW, monotonic: () => NOW };
export const OVERLAY = new Uint8Array(32);
const deps = { clock, log: silentLogger(), overlay: OVERLAY };
const DEFAULTS: LocalStoreOptions = { cacheCapacity: 3, reserveCapacity: 100, radius: 2 };

export interface Bench extends AsyncDisposable {
  store: LocalStore;
  reopen(options?: Partial<LocalStoreOptions>): Promise<void>;
}

type Through = (disk: Backend) => Backend;
export type Open = (options?: Partial<LocalStoreOptions>, through?: Through) => Promise<Bench>;

async function onDisk(options?: Partial<LocalStoreOptions>, through?: Through): Promise<Bench> {
  const path = mkdtempSync(join(tmpdir(), 'svcnet-store-'));
  const open = (changed?: Partial<LocalStoreOptions>) =>
    openLmdbStore({ ...DEFAULTS, ...options, ...changed, path }, { ...deps, through });
  const bench: Bench = {
    store: await open(),
    async reopen(changed) {
      await bench.store.close();
      bench.store = await open(changed);
    },
    async [Symbol.asyncDispose]() {
      await bench.store.close();
      rmSync(path, { recursive: true });
    },
  };
  return bench;
}

async function inMemory(options?: Partial<LocalStoreOptions>, through?: Through): Promise<Bench> {
  const store = await createMemoryStore({ ...DEFAULTS, ...options }, { ...deps, through });
  return { store, reopen: () => Promise.resolve(), [Symbol.asyncDispose]: () => store.close() };
}

export const BACKENDS: readonly (readonly [name: string, open: Open])[] = [
  ['in memory', inMemory],
  ['on disk', onDisk],
];

/** Takes no writes between `fail` and `heal`; what is asked for in between fails alone. */
export function failingDisk() {
  const disks: Active<DiskFault>[] = [];
  const fault: DiskFault = { layer: 'disk', what: 'read-only' };
  return {
    through: (disk: Backend) => badDisk(disk, { clock, surroundings: { disks, onReload: () => undefined } }),
    fail: () => void disks.push({ fault, count: () => undefined }),
    heal: () => void disks.splice(0),
  };
}

/** Commits are in order, so this one is the last. */
export async function committed(store: LocalStore): Promise<void> {
  await store.state('test').put('barrier', new Uint8Array());
}

/** The store accepts it; its first byte decides the bin. */
export function chunk(first: number, content = 0, kind: Chunk['kind'] = 'cac'): Chunk {
  const address = new Uint8Array(32).fill(first);
  const data = new Uint8Array(40 + first + content).fill(content + 1);
  return { address, data, kind, identity: kind === 'cac' ? address : keccak256(address, data) };
}

/** @param bin from the overlay of the tests @param number makes it differ, below 2^32 */
export function addressIn(bin: number, number: number): Uint8Array {
  const address = Buffer.alloc(32);
  // In bin 31 only the last bit of the first four bytes may differ.
  address.writeUInt32BE(2 ** (31 - bin));
  address.writeUInt32BE(number, 28);
  return new Uint8Array(address);
}

export function chunkAt(address: Uint8Array, content = 0): Chunk {
  return { address, data: new Uint8Array(8).fill(content), kind: 'cac', identity: address };
}

export function stamp(fields: { batch?: number; index?: number; timestamp?: number } = {}): Stamp {
  const { batch = 1, index = 0, timestamp = 1 } = fields;
  const number = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32BE(value, 4);
    return new Uint8Array(bytes);
  };
  return {
    batchId: new Uint8Array(32).fill(batch),
    index: number(index),
    timestamp: number(timestamp),
    signature: new Uint8Array(65).fill(batch),
  };
}
