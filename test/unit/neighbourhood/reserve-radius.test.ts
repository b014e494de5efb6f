import { expect, test } from 'vitest';
import { OVERLAY } from '../store/stores.ts';
import { aborted, counts, STUCK_PAUSE_MAX_MS, WAKE_UP_MS, worker } from './reserve-worker-kit.ts';

test('a full reserve hands over chunks below its radius until a tenth of its capacity is free', async () => {
  const { reserve, handOver, fill, worker: running, clock, metric } = await worker({ capacity: 20 });
  await reserve.setRadius(1);
  running.start();
  await fill(0, 15);
  await fill(1, 4);
  await clock.settle();
  expect(handOver.asked).toEqual([]);
  await fill(1, 1);
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius(), handOver.asked]).toEqual([[13, 5], 1, [2]]);
  expect(await metric('evicted_count')).toBe(2);
  expect(await metric('over_cap_trigger_count')).toBe(1);
  expect(await metric('reserve_size')).toBe(18);
  expect(await metric('reserve_size_within_radius')).toBe(5);
  expect(await metric('storage_radius')).toBe(1);
});

test('the radius grows with the very chunk that fills the neighbourhood, before that is stored', async () => {
  const { reserve, fill, worker: running, clock } = await worker();
  running.start();
  await fill(0, 5);
  await fill(1, 4);
  expect(reserve.radius()).toBe(0);
  const filling = fill(1, 1);
  expect(reserve.radius()).toBe(1);
  await filling;
  await clock.settle();
  expect([counts(reserve, 2), reserve.radius()]).toEqual([[4, 5], 1]);
});

test('the radius grows until the neighbourhood fits, and the chunks left out are handed over', async () => {
  const { reserve, fill, worker: running, clock, metric } = await worker();
  running.start();
  const changes: number[] = [];
  reserve.onRadius((radius) => changes.push(radius));
  await fill(3, 6);
  await fill(2, 3);
  await clock.settle();
  expect(changes).toEqual([]);
  await fill(2, 1);
  await clock.settle();
  expect([counts(reserve), changes]).toEqual([
    [0, 0, 3, 6],
    [1, 2, 3],
  ]);
  expect(await metric('evicted_count')).toBe(1);
});

test('the radius does not grow while chunks below it can leave instead', async () => {
  const { reserve, fill, worker: running, clock } = await worker();
  await reserve.setRadius(2);
  running.start();
  await fill(0, 2);
  await fill(1, 2);
  await fill(2, 7);
  await clock.settle();
  expect([reserve.size(), counts(reserve)[2], reserve.radius()]).toEqual([9, 7, 2]);
});

test('the radius does not grow beyond adjacent neighbourhoods that have a node', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ covered: 2 });
  running.start();
  await fill(5, 10);
  await clock.advance(60_000);
  expect([counts(reserve, 6), reserve.radius()]).toEqual([[0, 0, 0, 0, 0, 10], 2]);
  expect(reserve.hasRoomFor(OVERLAY)).toBe(false);
  expect(running.congestion()).toMatchObject({ full: true, missing: '001' });
});

test('the radius grows as soon as the missing node is there', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker({ covered: 2 });
  running.start();
  await fill(2, 5);
  await fill(5, 5);
  await clock.settle();
  expect(reserve.radius()).toBe(2);
  await connect([0, 1, 2]);
  expect([reserve.radius(), counts(reserve, 6)]).toEqual([3, [0, 0, 4, 0, 0, 5]]);
  expect(running.congestion()).toEqual({
    full: false,
    missing: undefined,
    leftovers: [],
    refusal: undefined,
  });
});

test.each([
  { waiting: 10, radius: 2 },
  { waiting: 11, radius: 1 },
])(
  'with a capacity of 10 and $waiting chunks to hand over, a full radius of 1 becomes $radius',
  async (given) => {
    const { reserve, handOver, fill, worker: running, clock } = await worker();
    handOver.isHeld = () => false;
    await reserve.setRadius(1);
    await fill(0, given.waiting);
    await fill(1, 3);
    await fill(2, 7);
    running.start();
    await clock.advance(60_000);
    expect(reserve.radius()).toBe(given.radius);
    handOver.isHeld = () => true;
    await clock.advance(STUCK_PAUSE_MAX_MS);
    expect([reserve.radius(), reserve.size()]).toEqual([2, 9]);
  },
);

test('the radius also grows while chunks are being handed over', async () => {
  const { reserve, handOver, fill, worker: running, clock } = await worker();
  handOver.before = aborted;
  await reserve.setRadius(1);
  await fill(0, 5);
  await fill(1, 5);
  running.start();
  await clock.settle();
  expect(handOver.asked).toEqual([1]);
  await fill(2, 5);
  expect([reserve.radius(), handOver.asked]).toEqual([2, [1]]);
});

test('a reserve that is full at the highest radius stays full, and the worker keeps running', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 2 });
  running.start();
  await fill(31, 3);
  await clock.settle();
  expect([reserve.size(), reserve.radius()]).toEqual([3, 31]);
  await fill(5, 1);
  await clock.advance(STUCK_PAUSE_MAX_MS);
  expect([reserve.size(), reserve.radius()]).toEqual([3, 31]);
});

test('an expired batch leaves with all its chunks, including those within the radius', async () => {
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
});

test('a node without a radius of its own starts with the network radius, once', async () => {
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
});

test('a node with a radius of its own keeps it', async () => {
  const { reserve, settled, worker: running, clock } = await worker({ minimumRadius: 1 });
  await reserve.setRadius(2);
  running.start();
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([2, [2]]);
});

test('a start radius that cannot be stored is tried again at the next look', async () => {
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
});

test('a network radius that arrives after the stop is ignored', async () => {
  const { reserve, settled, worker: running, clock } = await worker();
  running.start();
  await running.stop();
  running.networkRadius(4);
  await clock.settle();
  expect([reserve.radius(), settled]).toEqual([0, []]);
});

test('a reserve that is less than half full reduces its radius by one per look, down to the minimum', async () => {
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
});

test('with nothing within the radius it shrinks to the minimum and no further', async () => {
  const { reserve, fill, worker: running, clock } = await worker({ capacity: 10, minimumRadius: 1 });
  await reserve.setRadius(3);
  await fill(0, 4);
  running.start();
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
  await clock.advance(5 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(1);
});

test('the radius does not shrink while chunks arrive from peers', async () => {
  const { reserve, given, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  given.pullRate = 0.001;
  running.start();
  await clock.advance(3 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  given.pullRate = 0;
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test('the radius does not shrink while what it leaves out would fill the reserve again', async () => {
  const { reserve, fill, worker: running, expire, clock } = await worker();
  await reserve.setRadius(3);
  await fill(2, 7, 1);
  await fill(2, 1, 2);
  running.start();
  await clock.advance(3 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  await expire(2);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test('a node takes over the adjacent neighbourhood at the third look that finds no node there', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  await fill(3, 6);
  running.start();
  await connect([0, 1, 3]);
  await clock.advance(2 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
  await clock.advance(5 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test('looks that find the adjacent neighbourhood empty count from the last one that found a node', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  await fill(3, 6);
  running.start();
  await connect([0, 1]);
  await clock.advance(2 * WAKE_UP_MS);
  await connect([0, 1, 2]);
  await clock.advance(WAKE_UP_MS);
  await connect([0, 1]);
  await clock.advance(2 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
  await clock.advance(WAKE_UP_MS);
  expect(reserve.radius()).toBe(2);
});

test('a node without room takes over no neighbourhood', async () => {
  const { reserve, handOver, fill, connect, worker: running, clock } = await worker();
  handOver.isHeld = () => false;
  await reserve.setRadius(3);
  await fill(2, 4);
  await fill(3, 6);
  running.start();
  await connect([0, 1]);
  await clock.advance(5 * WAKE_UP_MS);
  expect([reserve.radius(), counts(reserve)]).toEqual([3, [0, 0, 4, 6]]);
});

test('a node that has lost all its peers takes over no neighbourhood', async () => {
  const { reserve, fill, connect, worker: running, clock } = await worker();
  await reserve.setRadius(3);
  await fill(3, 6);
  running.start();
  await connect([]);
  await clock.advance(5 * WAKE_UP_MS);
  expect(reserve.radius()).toBe(3);
});
