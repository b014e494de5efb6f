import { expect, test } from 'vitest';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createReserveWorker } from '../../../node/neighbourhood/reserve-worker.ts';
import type { Batch } from '../../../node/postage/ports.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import type { Reserve } from '../../../node/store/ports.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { addressIn, chunkAt, OVERLAY, stamp } from '../store/stores.ts';

const WAKE_UP_MS = 900_000;

interface Given {
  readonly capacity?: number;
  readonly minimumRadius?: number;
}

async function worker({ capacity = 10, minimumRadius = 0 }: Given = {}) {
  const clock = new ManualClock();
  const metrics = createMetrics({ prefix: 'svc' });
  const log = silentLogger();
  const store = await createMemoryStore(
    { cacheCapacity: 100, reserveCapacity: capacity, radius: minimumRadius },
    { clock, log, overlay: OVERLAY },
  );
  const { reserve } = store;
  const expired = new Set<number>();
  const listeners = new Set<() => void>();
  const given = { pullRate: 0, awaited: new Set<number>() };
  /** Radius at each call of `onSettled`. */
  const settled: number[] = [];
  const create = () =>
    createReserveWorker(
      { wakeUpMs: WAKE_UP_MS, minimumRadius },
      {
        reserve,
        postage: {
          awaited: (id) => given.awaited.has(id[0]!),
          batches: { get: (id) => (expired.has(id[0]!) ? undefined : ({} as Batch)) },
          onExpired(listener) {
            listeners.add(listener);
            return () => listeners.delete(listener);
          },
        },
        pullRate: () => given.pullRate,
        onSettled: () => settled.push(reserve.radius()),
        clock,
        log,
        metrics,
      },
    );
  let index = 0;
  /** Chunks in a bin, each under a stamp index of its own. */
  const fill = async (bin: number, count: number, batch = 1): Promise<void> => {
    for (let n = 0; n < count; n++, index++) {
      await reserve.put(chunkAt(addressIn(bin, index)), stamp({ batch, index }));
    }
  };
  const expire = async (batch: number): Promise<void> => {
    expired.add(batch);
    for (const listener of listeners) listener();
    await clock.settle();
  };
  const metric = async (name: string): Promise<number> => {
    const exposed = (await metrics.expose()).split('\n');
    return Number(exposed.find((line) => line.startsWith(`svc_localstore_${name} `))?.split(' ')[1]);
  };
  return { clock, store, reserve, given, worker: create(), listeners, settled, fill, expire, metric };
}

/** Entries per bin, the first bins. */
function counts(reserve: Reserve, bins = 4): number[] {
  return Array.from({ length: bins }, (_, bin) => reserve.items(bin, 1n, 10_000).length);
}

test('a reserve within its capacity keeps everything', async () => {
  const { reserve, fill, worker: running, clock } = await worker();
  running.start();
  await fill(0, 5);
  await fill(1, 5);
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius()]).toEqual([[5, 5], 0]);
  await running.stop();
});

test('one chunk over capacity raises the radius until the bins below it hold enough', async () => {
  const { reserve, fill, worker: running, clock, metric } = await worker();
  running.start();
  const changes: number[] = [];
  reserve.onRadius((radius) => changes.push(radius));
  await fill(3, 6);
  await fill(2, 4);
  await clock.settle();
  expect(changes).toEqual([]);
  await fill(2, 1);
  await clock.settle();
  expect([counts(reserve), changes]).toEqual([
    [0, 0, 0, 6],
    [1, 2, 3],
  ]);
  expect(await metric('evicted_count')).toBe(5);
  expect(await metric('over_cap_trigger_count')).toBe(1);
  expect(await metric('reserve_size')).toBe(6);
  expect(await metric('reserve_size_within_radius')).toBe(6);
  expect(await metric('storage_radius')).toBe(3);
  await running.stop();
});

test('chunks below the radius go before the radius grows', async () => {
  const { reserve, fill, worker: running, clock } = await worker();
  await reserve.setRadius(2);
  running.start();
  await fill(0, 2);
  await fill(1, 2);
  await fill(2, 7);
  await clock.settle();
  expect([counts(reserve), reserve.radius()]).toEqual([[0, 0, 7, 0], 2]);
  await running.stop();
});

test('batches go one after the other, a thousand chunks at least, and what is not needed stays', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 3000 });
  await fill(0, 1500, 1);
  await fill(0, 1400, 2);
  await fill(1, 101, 2);
  await reserve.setRadius(1);
  running.start();
  await clock.settle();
  expect(reserve.size()).toBe(2001);
  expect([...new Set(reserve.items(0, 1n, 5000).map(({ batchId }) => batchId[0]))]).toEqual([1, 2]);
  expect(reserve.items(0, 1n, 5000).filter(({ batchId }) => batchId[0] === 1)).toHaveLength(500);
  await running.stop();
});

test('more than a thousand chunks too many go in one run', async () => {
  const { reserve, fill, worker: running, clock, metric } = await worker({ capacity: 100 });
  await fill(0, 1500, 1);
  await fill(0, 1000, 2);
  await fill(1, 100, 3);
  running.start();
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius()]).toEqual([[0, 100], 1]);
  expect(await metric('over_cap_trigger_count')).toBe(1);
  await running.stop();
});

test('a reserve that is over capacity at the highest radius stays so, and goes on', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 2 });
  running.start();
  await fill(31, 3);
  await clock.settle();
  expect([reserve.size(), reserve.radius()]).toEqual([3, 31]);
  await fill(5, 1);
  await clock.settle();
  expect([reserve.size(), reserve.radius()]).toEqual([3, 31]);
  await running.stop();
});

test('an expired batch leaves with all its chunks, also those within the radius', async () => {
  const { reserve, fill, worker: running, expire, metric } = await worker({ capacity: 1000 });
  await reserve.setRadius(1);
  running.start();
  await fill(0, 100, 1);
  await fill(3, 100, 1);
  await fill(3, 5, 2);
  await expire(1);
  expect(counts(reserve)).toEqual([0, 0, 0, 5]);
  expect(await metric('expired_count')).toBe(200);
  expect(await metric('evicted_count')).toBe(0);
  expect(reserve.radius()).toBe(1);
  await running.stop();
});

test('chunks of unknown batches leave at the start', async () => {
  const { reserve, fill, worker: running, expire, metric, clock } = await worker({ capacity: 1000 });
  for (let batch = 1; batch <= 200; batch++) await fill(2, 1, batch);
  for (let batch = 1; batch <= 199; batch++) await expire(batch);
  expect(reserve.size()).toBe(200);
  running.start();
  await clock.settle();
  expect(reserve.items(2, 1n, 10).map(({ batchId }) => batchId[0])).toEqual([200]);
  expect(await metric('reserve_missing_batch')).toBe(199);
  await running.stop();
});

test('chunks of a batch that may come back stay until it is given up', async () => {
  const { reserve, given, fill, worker: running, expire, clock } = await worker();
  running.start();
  await fill(0, 5, 1);
  await fill(0, 5, 2);
  given.awaited.add(1);
  await expire(1);
  await expire(2);
  expect(reserve.items(0, 1n, 100).map(({ batchId }) => batchId[0])).toEqual([1, 1, 1, 1, 1]);
  given.awaited.delete(1);
  await expire(1);
  expect(reserve.size()).toBe(0);
  await clock.settle();
  await running.stop();
});

test('a chunk that came while its batch expired leaves at the next look', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  running.start();
  await expire(1);
  await fill(0, 1, 1);
  await clock.settle();
  expect(reserve.size()).toBe(1);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(0);
  await running.stop();
});

test('without a radius of its own a node begins with that of the network, once', async () => {
  const { reserve, settled, worker: running, clock } = await worker({ minimumRadius: 1 });
  running.start();
  await clock.settle();
  expect(settled).toEqual([]);
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([4, [4]]);
  running.networkRadius(6);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([4, [4]]);
  await running.stop();
});

test('a node with a radius of its own keeps it', async () => {
  const { reserve, settled, worker: running, clock } = await worker({ minimumRadius: 1 });
  await reserve.setRadius(2);
  running.start();
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([2, [2]]);
  await running.stop();
});

test('a start radius that can not be written is tried again at the next look', async () => {
  const { reserve, settled, worker: running, clock } = await worker();
  const setRadius = reserve.setRadius.bind(reserve);
  let failures = 1;
  reserve.setRadius = (radius) =>
    failures-- > 0 ? Promise.reject(new Error('disk full')) : setRadius(radius);
  running.start();
  running.networkRadius(4);
  await clock.advance(WAKE_UP_MS - 1);
  expect([reserve.radius(), settled]).toEqual([0, []]);
  await clock.advance(1);
  expect(settled).toEqual([4]);
  await running.stop();
});

test('a radius of the network that comes too late does not begin anything', async () => {
  const { reserve, settled, worker: running, clock } = await worker();
  running.start();
  await running.stop();
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([0, []]);
});

test('an expiry ends a run over capacity: afterwards there may be nothing left to do', async () => {
  const { reserve, fill, worker: running, expire, clock, metric } = await worker({ capacity: 3000 });
  await fill(0, 1, 1);
  await fill(1, 1500, 2);
  await fill(1, 1500, 3);
  const evict = reserve.evict.bind(reserve);
  let expiring: Promise<void> | undefined;
  reserve.evict = (what) => {
    expiring ??= expire(3);
    return evict(what);
  };
  running.start();
  await clock.settle();
  await expiring;
  expect(await metric('over_cap_trigger_count')).toBe(1);
  expect([counts(reserve, 2), reserve.radius()]).toEqual([[1, 1500], 0]);
  expect(await metric('expired_count')).toBe(1500);
  expect(await metric('evicted_count')).toBe(0);
  await running.stop();
});

test('a reserve that is less than half full gives up one bit of radius per look, down to the minimum', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 10, minimumRadius: 1 });
  await reserve.setRadius(4);
  await fill(4, 5);
  running.start();
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(4);
  await reserve.setRadius(5);
  await clock.advance(WAKE_UP_MS - 1);
  expect(reserve.radius()).toBe(5);
  await clock.advance(1);
  expect(reserve.radius()).toBe(4);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(4);
  await running.stop();
});

test('nothing within the radius lets it shrink to the minimum and no further', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 10, minimumRadius: 1 });
  await reserve.setRadius(3);
  await fill(0, 4);
  running.start();
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
  await clock.advance(5 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(1);
  await running.stop();
});

test('the radius does not shrink while chunks come from peers', async () => {
  const { reserve, given, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  given.pullRate = 0.001;
  running.start();
  await clock.advance(3 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  given.pullRate = 0;
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
  await running.stop();
});

test('a chunk that the cache or an upload holds as well outlives its place in the reserve', async () => {
  const { store, reserve, worker: running, expire } = await worker();
  const [cached, uploaded, lost] = [0, 1, 2].map((n) => chunkAt(addressIn(1, n)));
  store.cache.put(cached!);
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  await session.put(uploaded!, stamp({ index: 9 }));
  await session.done();
  for (const [n, chunk] of [cached!, uploaded!, lost!].entries())
    await reserve.put(chunk, stamp({ index: n }));
  running.start();
  await expire(1);
  expect(reserve.size()).toBe(0);
  expect([cached, uploaded, lost].map((chunk) => store.chunks.has(chunk!.address))).toEqual([
    true,
    true,
    false,
  ]);
  expect(store.uploads.pending(0, 10)).toHaveLength(1);
  await running.stop();
});

test('a stopped worker leaves the rest to the next one', async () => {
  const { reserve, fill, worker: running, expire, listeners, clock } = await worker({ capacity: 10_000 });
  running.start();
  await fill(0, 5000, 1);
  const expiring = expire(1);
  await running.stop();
  await expiring;
  const left = reserve.size();
  expect(left).toBeGreaterThan(0);
  expect(listeners.size).toBe(0);
  await fill(0, 1, 1);
  await clock.advance(2 * WAKE_UP_MS);
  expect(reserve.size()).toBe(left + 1);
});

test('an eviction that fails is tried again at the next event', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  const evict = reserve.evict.bind(reserve);
  let failures = 1;
  reserve.evict = (what) => (failures-- > 0 ? Promise.reject(new Error('disk full')) : evict(what));
  running.start();
  await fill(0, 3, 1);
  await expire(1);
  expect(reserve.size()).toBe(3);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(0);
  await running.stop();
});
