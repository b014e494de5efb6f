import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { ChunkEvents } from '../../../node/env/chunk-events.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import { chunk, committed, OVERLAY, stamp } from './stores.ts';

async function watched(options: { cacheCapacity: number; radius: number }) {
  const clock = systemClock();
  const events = new ChunkEvents(100, clock);
  const store = await createMemoryStore(
    { reserveCapacity: 100, ...options },
    { clock, log: silentLogger(), overlay: OVERLAY, events },
  );
  /** `cached 01`: kind and first byte of the address. */
  const told = () =>
    events.page({ after: 0, limit: 100 }).events.map(({ kind, address }) => `${kind} ${address.slice(0, 2)}`);
  return { store, events, told };
}

test('a chunk that is evicted from the cache is reported as gone', async () => {
  const { store, told } = await watched({ cacheCapacity: 1, radius: 0 });
  store.cache.put(chunk(1));
  store.cache.put(chunk(1));
  store.cache.put(chunk(2));
  await committed(store);
  expect(told()).toEqual(['cached 01', 'uncached 01', 'deleted 01', 'cached 02']);
});

test('a chunk that is also cached is not gone when it leaves the reserve', async () => {
  const { store, events, told } = await watched({ cacheCapacity: 10, radius: 2 });
  const [kept, gone] = [chunk(0xff), chunk(0xfe)];
  await store.reserve.put(kept, stamp({ batch: 1, index: 1 }));
  await store.reserve.put(gone, stamp({ batch: 2, index: 2 }));
  store.cache.put(kept);
  await committed(store);
  await store.reserve.evictBatch(stamp({ batch: 1 }).batchId);
  await store.reserve.release(store.reserve.items(0, 0n, 10));
  expect(told()).toEqual(['cached ff', 'evicted ff', 'evicted fe', 'deleted fe']);
  const details = events.page({ after: 0, limit: 100 }).events.map(({ detail }) => detail);
  expect(details.filter(Boolean)).toEqual([
    'its batch is used up or expired',
    'handed over: nodes that are closer hold it',
  ]);
});

test('a newer stamp replaces another chunk, and not the same one', async () => {
  const { store, told } = await watched({ cacheCapacity: 0, radius: 0 });
  await store.reserve.put(chunk(1), stamp({ timestamp: 1 }));
  await store.reserve.put(chunk(1), stamp({ timestamp: 2 }));
  expect(told()).toEqual([]);
  await store.reserve.put(chunk(2), stamp({ timestamp: 3 }));
  expect(told()).toEqual(['replaced 01', 'deleted 01']);
});
