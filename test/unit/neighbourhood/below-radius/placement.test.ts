import { expect, test } from 'vitest';
import { createPlacement } from '../../../../node/neighbourhood/below-radius/placement.ts';
import { NoRoomError } from '../../../../node/protocols/pushsync/rules.ts';
import { belowRadius, Remote, synced } from './kit.ts';

/** From a change to the round that it causes. */
const CHANGE_PAUSE_MS = 10_000;
/** Before what could not be done is tried again. */
const PAUSE_MS = 300_000;
/** A peer in bin 0 with this radius pulls nothing from this node; with one less it does. */
const TOO_FAR = 3;

async function setup(given: { radius?: number; capacity?: number } = {}) {
  const below = await belowRadius(given);
  const placement = createPlacement(below.deps);
  placement.start();
  const { clock, pushes } = below;
  pushes.answer = async () => synced(4);
  /** What is pushed because of the last change. */
  const round = async (pauseMs = CHANGE_PAUSE_MS): Promise<number> => {
    const before = pushes.addresses.length;
    await clock.advance(pauseMs);
    return pushes.addresses.length - before;
  };
  return { ...below, placement, round };
}

/** A peer in a bin that is responsible for the chunks which `fill` puts there. */
function remote(bin: number, radius: number, number = 1): Remote {
  const one = new Remote(bin, bin + 4, number);
  one.radius = radius;
  return one;
}

test('what a peer leaves here because it lies too far outside is pushed, and stays', async () => {
  const { reserve, fill, connect, round, pushes, metric } = await setup();
  const entries = await fill(0, 5);
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(5);
  expect(pushes.addresses).toEqual(entries.map(({ address }) => address));
  expect(reserve.size()).toBe(5);
  expect(await metric('placed_count')).toBe(5);
});

test('what every peer of the bin pulls is not pushed, until one no longer does', async () => {
  const { fill, connect, round } = await setup();
  await fill(0, 5);
  const [near, nearer] = [remote(0, TOO_FAR - 1), remote(0, 1, 2)];
  connect(near, nearer);
  expect(await round()).toBe(0);
  near.radius = TOO_FAR;
  expect(await round(PAUSE_MS)).toBe(5);
});

test('within the radius nothing is pushed, nor in a bin without peers', async () => {
  const { fill, connect, round } = await setup({ radius: 2 });
  await fill(0, 5);
  await fill(2, 5);
  await fill(3, 5);
  connect(remote(1, 9), remote(2, 9));
  expect(await round()).toBe(0);
});

test('a chunk is pushed once, and one that comes later too', async () => {
  const { fill, connect, round } = await setup();
  await fill(0, 5);
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(5);
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(0);
  await fill(0, 2);
  expect(await round(CHANGE_PAUSE_MS)).toBe(0);
  expect(await round(PAUSE_MS)).toBe(2);
});

test('of many chunks those that a peer lists are not pushed', async () => {
  const { fill, connect, round, pushes } = await setup();
  const entries = await fill(0, 50);
  const [near, far] = [remote(0, 1), remote(0, TOO_FAR, 2)];
  near.holds(entries.slice(0, 20));
  far.holds(entries.slice(10, 45));
  connect(near, far);
  expect(await round()).toBe(5);
  expect(pushes.addresses).toEqual(entries.slice(45).map(({ address }) => address));
});

test('more chunks than one round pushes are all pushed', async () => {
  const { fill, connect, round } = await setup();
  await fill(0, 600);
  connect(remote(0, TOO_FAR));
  expect(await round(CHANGE_PAUSE_MS + PAUSE_MS - 1)).toBe(600);
});

test('what no node takes is tried again, after a change or a pause, and holds up nothing', async () => {
  const { fill, connect, round, pushes } = await setup();
  const entries = await fill(0, 50);
  const refused = new Set(entries.slice(0, 20).map(({ address }) => address.toString()));
  pushes.answer = async (address) => {
    if (refused.has(address.toString())) throw new NoRoomError('1');
    return synced(4);
  };
  connect(remote(0, TOO_FAR));
  // Sixteen failures end a round, of eight pushes at once.
  const first = await round();
  expect(first).toBeGreaterThanOrEqual(16);
  expect(first).toBeLessThan(24);
  connect(remote(0, TOO_FAR));
  await round();
  await round(PAUSE_MS);
  expect(new Set(pushes.addresses.map(String)).size).toBe(50);
  pushes.answer = async () => synced(4);
  pushes.addresses.length = 0;
  await round(2 * PAUSE_MS);
  expect(new Set(pushes.addresses.map(String))).toEqual(refused);
  pushes.addresses.length = 0;
  expect(await round(2 * PAUSE_MS)).toBe(0);
});

test('the receipt of a storer that is no deeper does not place a chunk', async () => {
  const { fill, connect, round, pushes, metric } = await setup();
  await fill(0, 3);
  pushes.answer = async () => synced(0);
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(3);
  expect(await round(PAUSE_MS)).toBe(3);
  expect(await metric('placed_count')).toBe(0);
});

test('a full reserve places nothing: making room pushes the same chunks', async () => {
  const { reserve, fill, connect, round } = await setup({ capacity: 10 });
  const entries = await fill(0, 10);
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(0);
  await reserve.release(entries.slice(0, 1));
  expect(await round(PAUSE_MS)).toBe(9);
});

test('what came while the radius was smaller is looked at when it has grown again', async () => {
  const { reserve, fill, connect, round } = await setup();
  await fill(0, 3);
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(3);
  await reserve.setRadius(0);
  await reserve.setRadius(1);
  expect(await round()).toBe(3);
});

test('a peer that does not tell its radius does not keep others from being asked', async () => {
  const { fill, connect, round } = await setup();
  await fill(0, 3);
  const [mute, far] = [remote(0, TOO_FAR), remote(0, TOO_FAR, 2)];
  mute.greet = () => Promise.reject(new Error('mute'));
  connect(mute, far);
  expect(await round()).toBe(3);
});

test('a chunk that has left meanwhile is forgotten', async () => {
  const { reserve, fill, connect, round, pushes } = await setup();
  const entries = await fill(0, 3);
  pushes.answer = () => Promise.reject(new NoRoomError('1'));
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(3);
  await reserve.release(entries);
  expect(await round(PAUSE_MS)).toBe(0);
});

test('a stop ends the pushes, and nothing is pushed afterwards', async () => {
  const { fill, connect, round, pushes, placement, listeners } = await setup();
  await fill(0, 30);
  pushes.answer = (_address, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  connect(remote(0, TOO_FAR));
  expect(await round()).toBe(8);
  await placement.stop();
  expect(listeners.size).toBe(0);
  expect(await round(PAUSE_MS)).toBe(0);
});
