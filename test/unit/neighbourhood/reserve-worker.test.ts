import { expect, test } from 'vitest';
import { addressIn, chunkAt, stamp } from '../store/stores.ts';
import { aborted, counts, STUCK_PAUSE_MAX_MS, WAKE_UP_MS, worker } from './reserve-worker-kit.ts';

test('a reserve below its capacity keeps everything', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  running.start();
  await fill(0, 4);
  await fill(1, 5);
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius(), handOver.asked]).toEqual([[4, 5], 0, []]);
});

test('room is made for a thousand chunks at most', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker({ capacity: 12_000 });
  await reserve.setRadius(1);
  await fill(0, 12_005);
  running.start();
  await clock.settle();
  expect([handOver.asked, reserve.size()]).toEqual([[1005], 11_000]);
});

test('a hand-over that was not enough continues at once', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  await reserve.setRadius(1);
  await fill(0, 15);
  const release = handOver.release.bind(handOver);
  const asked: number[] = [];
  handOver.release = (count, signal) => {
    asked.push(count);
    return release(Math.min(count, 2), signal);
  };
  running.start();
  await clock.settle();
  expect([asked, reserve.size()]).toEqual([[6, 4, 2], 9]);
});

test('chunks that no node takes stay, and are tried again after pauses of 250 ms to 32 s', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.isHeld = () => false;
  const times: number[] = [];
  handOver.before = async () => void times.push(clock.monotonic());
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(127_750);
  expect(times).toEqual([0, 250, 750, 1750, 3750, 7750, 15_750, 31_750, 63_750, 95_750, 127_750]);
  expect(reserve.size()).toBe(10);
});

test('the pauses restart once something could leave', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  await reserve.setRadius(1);
  handOver.isHeld = () => false;
  await fill(0, 10);
  running.start();
  await clock.advance(10_000);
  handOver.isHeld = () => true;
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect(reserve.size()).toBe(9);
  handOver.isHeld = () => false;
  const before = handOver.asked.length;
  await fill(0, 1);
  await clock.advance(249);
  expect(handOver.asked.length - before).toBe(1);
  await clock.advance(1);
  expect(handOver.asked.length - before).toBe(2);
});

test('chunks that no node takes are tried again at once when a peer connects', async () => {
  const { reserve, handOver, fill, connect, worker: running, clock } = await worker({ covered: 1 });
  handOver.isHeld = () => false;
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(60_000);
  handOver.isHeld = () => true;
  await connect([0, 1]);
  expect(reserve.size()).toBe(9);
});

test('arriving chunks do not shorten the pause after a hand-over that let nothing go', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker({ capacity: 100 });
  const times: number[] = [];
  handOver.isHeld = () => false;
  handOver.before = () => {
    times.push(clock.monotonic());
    return clock.sleep(100);
  };
  await reserve.setRadius(1);
  await fill(0, 100);
  running.start();
  await clock.advance(25);
  for (let put = 0; put < 60; put++) {
    await fill(1, 1);
    await clock.advance(50);
  }
  expect(times).toEqual([0, 350, 950, 2050]);
});

test('a worker that cannot let go of anything logs so once', async () => {
  const { reserve, handOver, fill, worker: running, clock, warnings } = await worker();
  handOver.isHeld = () => false;
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(7749);
  expect(warnings).toEqual([]);
  await clock.advance(600_000);
  expect(warnings).toEqual(['the reserve is full, and no node takes from it']);
});

test('the reason for a full reserve is reported as long as no node takes its chunks', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.isHeld = () => false;
  handOver.refusal = 'no room';
  await reserve.setRadius(1);
  await fill(0, 9);
  running.start();
  await clock.settle();
  const nothing = { full: false, missing: undefined, leftovers: [], refusal: undefined };
  expect(running.congestion()).toEqual(nothing);
  await fill(0, 1);
  await clock.settle();
  const leftovers = [{ neighbourhood: 'left over', chunks: 10 }];
  expect(running.congestion()).toEqual({ ...nothing, leftovers, refusal: 'no room' });
  handOver.isHeld = () => true;
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect(running.congestion()).toEqual(nothing);
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
});

test('chunks of a batch that may come back stay until it is given up', async () => {
  const { reserve, given, fill, worker: running, expire, clock } = await worker({ capacity: 20 });
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
});

test('a chunk that arrived while its batch expired leaves at the next look', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  running.start();
  await expire(1);
  await fill(0, 1, 1);
  await clock.settle();
  expect(reserve.size()).toBe(1);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(0);
});

test('an expiry ends a hand-over, as there may be nothing left to do afterwards', async () => {
  const { reserve, handOver, fill, worker: running, expire, clock, metric } = await worker();
  handOver.before = aborted;
  await reserve.setRadius(1);
  await fill(0, 5, 2);
  await fill(0, 5, 3);
  running.start();
  await clock.settle();
  expect(handOver.asked).toEqual([1]);
  await expire(3);
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect([reserve.size(), handOver.asked]).toEqual([5, [1]]);
  expect(await metric('expired_count')).toBe(5);
  expect(await metric('evicted_count')).toBe(0);
});

test('a hand-over that an expiry ended resumes when the reserve is still full', async () => {
  const { reserve, handOver, fill, worker: running, expire, clock } = await worker();
  let sizes: number[] = [];
  handOver.before = (signal) => {
    sizes.push(reserve.size());
    return sizes.length === 1 ? aborted(signal) : Promise.resolve();
  };
  await reserve.setRadius(1);
  await fill(0, 12, 2);
  await fill(0, 5, 3);
  running.start();
  await clock.settle();
  await expire(3);
  expect([sizes, handOver.asked, reserve.size()]).toEqual([[17, 12], [8, 3], 9]);
  // An expiry that changes nothing ends a hand-over, too.
  sizes = [];
  await fill(0, 1, 2);
  await clock.settle();
  await expire(4);
  expect([sizes, reserve.size()]).toEqual([[10, 10], 9]);
});

test('an expiry makes a worker whose chunks no node takes try again at once', async () => {
  const { reserve, handOver, fill, worker: running, expire, clock } = await worker();
  handOver.isHeld = () => false;
  await reserve.setRadius(1);
  await fill(0, 12, 2);
  await fill(0, 1, 3);
  running.start();
  await clock.advance(60_000);
  handOver.isHeld = () => true;
  await expire(3);
  expect(reserve.size()).toBe(9);
});

test.each([12, 15, 100])(
  'a reserve of %i chunks does not shrink its radius because of the room that its growth has made',
  async (capacity) => {
    const { reserve, fill, worker: running, clock } = await worker({ capacity });
    running.start();
    const own = Math.floor(capacity * 0.4);
    await fill(1, own);
    await fill(0, capacity - own);
    await clock.advance(3 * WAKE_UP_MS);
    expect([reserve.radius(), counts(reserve, 2)[1]]).toEqual([1, own]);
  },
);

test('a chunk that the cache or an upload also holds outlives its place in the reserve', async () => {
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
});

test('a stopped worker leaves the rest to its successor', async () => {
  const { reserve, fill, worker: running, expire, listeners, clock } = await worker({ capacity: 10_000 });
  running.start();
  await fill(0, 5000, 1);
  const expiring = expire(1);
  await running.stop();
  await expiring;
  const left = reserve.size();
  expect(left).toBeGreaterThan(0);
  expect([listeners.listeners.size, listeners.topologyListeners.size]).toEqual([0, 0]);
  await fill(0, 1, 1);
  await clock.advance(2 * WAKE_UP_MS);
  expect(reserve.size()).toBe(left + 1);
});

test('stopping ends a hand-over and leaves no timer', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.before = aborted;
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.settle();
  expect(handOver.asked).toEqual([1]);
  await running.stop();
  expect(clock.running).toBe(0);
});

test('chunks of an expired batch that cannot be taken out leave at the next look', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  const evict = reserve.evictBatch.bind(reserve);
  let failures = 1;
  reserve.evictBatch = (id) => (failures-- > 0 ? Promise.reject(new Error('disk full')) : evict(id));
  running.start();
  await fill(0, 3, 1);
  await expire(1);
  expect(reserve.size()).toBe(3);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(0);
});

test('a hand-over that the disk refuses is tried again, even if nothing else happens', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  let failures = 1;
  handOver.before = async () => {
    if (failures-- > 0) throw new Error('disk full');
  };
  await reserve.setRadius(1);
  await fill(0, 10);
  running.start();
  await clock.advance(WAKE_UP_MS);
  expect(reserve.size()).toBe(9);
});
