import { expect, test } from 'vitest';
import { StreamError } from '../../../node/p2p/host.ts';
import { memoryRecords } from '../p2p/memory-nodes.ts';
import { bins, MINUTE_MS, Remote, setup } from './puller-kit.ts';

const MAX = 2n ** 64n - 1n;

test('a neighbour is asked for all bins from the radius on', async () => {
  const { connect } = setup({ radius: 3 });
  const remote = new Remote(3);
  await connect(remote);
  expect(remote.take()).toEqual(bins(3));
});

test.each([
  [5, 5],
  [4, 4],
])('of a peer at %i, outside of radius 6, only bin %i is pulled', async (po, bin) => {
  const { connect } = setup({ radius: 6 });
  const remote = new Remote(po);
  await connect(remote);
  expect(remote.take()).toEqual([`${bin}:1`]);
});

test('a peer farther outside, and a light one, is not even asked for cursors', async () => {
  const { connect, clock } = setup({ radius: 6 });
  const [far, light] = [new Remote(3, { 3: 5n }), new Remote(7)];
  await connect(far);
  await connect(light, { fullNode: false });
  await clock.advance(10 * MINUTE_MS);
  expect([far.cursorsAsked, light.cursorsAsked]).toEqual([0, 0]);
});

test('cursors are asked for once per connection', async () => {
  const { connect, disconnect, setRadius, clock } = setup({ radius: 1 });
  const remote = new Remote(31);
  await connect(remote);
  await setRadius(2);
  await setRadius(1);
  await connect(new Remote(30));
  await clock.advance(20 * MINUTE_MS);
  expect(remote.cursorsAsked).toBe(1);
  await disconnect(remote);
  await connect(remote);
  expect(remote.cursorsAsked).toBe(2);
});

test('a peer that does not send its cursors holds up no other peer', async () => {
  const { connect } = setup({ radius: 31 });
  const [stuck, remote] = [new Remote(31, {}, 1), new Remote(31, {}, 2)];
  stuck.greet = () => new Promise(() => undefined);
  await connect(stuck);
  await connect(remote);
  expect(remote.take()).toEqual(['31:1']);
});

test('a peer that refuses its cursors is asked again at growing intervals', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.greet = () => Promise.reject(new StreamError('STREAM_RESET', 'no'));
  await connect(remote);
  await clock.advance(499);
  expect(remote.cursorsAsked).toBe(1);
  await clock.advance(1);
  expect(remote.cursorsAsked).toBe(2);
  await clock.advance(1000);
  expect(remote.cursorsAsked).toBe(3);
  remote.greet = async () => undefined;
  await clock.advance(2000);
  expect(remote.take()).toEqual(['31:1']);
});

test('pulling resumes after a restart where it stopped', async () => {
  const { connect, state, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 35n });
  remote.answer = (_bin, start) => (start >= 21n ? new Promise(() => undefined) : undefined);
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1', '31:11', '31:21', '31:36']);

  const again = setup({ radius: 31, state });
  remote.answer = undefined;
  remote.lastIds.set(31, 40n);
  await again.connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:21', '31:31', '31:41']);
});

test('a gap between old and new entries that a restart left is closed', async () => {
  const { connect, state, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 20n });
  remote.answer = (_bin, start) => (start === 11n ? new Promise(() => undefined) : undefined);
  await connect(remote);
  remote.grow(31, 25n);
  await clock.settle();
  remote.take();
  remote.answer = undefined;
  await setup({ radius: 31, state }).connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:11', '31:26']);
});

test('unreadable records cost a second look at everything', async () => {
  const state = memoryRecords();
  await state.put(`interval/${new Remote(31).id}/31`, Buffer.from('nonsense'));
  await state.put(`epoch/${new Remote(31).id}`, Buffer.from('1'));
  const { connect, clock } = setup({ radius: 31, state });
  const remote = new Remote(31, { 31: 5n });
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1', '31:6']);
});

test('a peer with a new epoch is pulled from the beginning, others are not', async () => {
  const { connect, disconnect, clock } = setup({ radius: 31 });
  const [renewed, same] = [new Remote(31, { 31: 5n }, 1), new Remote(31, { 31: 5n }, 2)];
  for (const remote of [renewed, same]) await connect(remote);
  await clock.settle();
  for (const remote of [renewed, same]) {
    remote.take();
    await disconnect(remote);
  }
  renewed.epoch = 2n;
  for (const remote of [renewed, same]) await connect(remote);
  await clock.settle();
  expect(renewed.take()).toEqual(['31:1', '31:6']);
  expect(same.take()).toEqual(['31:6']);
});

test('a larger radius ends the work on the bins below it, and keeps the progress', async () => {
  const { connect, setRadius, metric, clock } = setup({ radius: 28 });
  const remote = new Remote(31, { 28: 5n, 31: 5n });
  await connect(remote);
  await clock.settle();
  remote.take();
  await setRadius(31);
  expect(await metric('puller_worker')).toBe(1);
  expect(remote.take()).toEqual([]);
});

test('a larger radius turns a neighbour into a peer outside the radius, and then drops it', async () => {
  const { connect, setRadius, metric } = setup({ radius: 4 });
  const remote = new Remote(5);
  await connect(remote);
  expect(await metric('puller_worker')).toBe(28);
  await setRadius(7);
  expect(await metric('puller_worker')).toBe(1);
  await setRadius(8);
  expect(await metric('puller_worker')).toBe(0);
});

test('with a smaller radius neighbours offer the bins below the old one again, other peers offer everything', async () => {
  const { connect, setRadius, clock } = setup({ radius: 4 });
  const neighbour = new Remote(31, { 3: 5n, 4: 5n, 5: 5n });
  const outside = new Remote(3, { 3: 5n, 4: 5n, 5: 5n });
  for (const remote of [neighbour, outside]) await connect(remote);
  await clock.settle();
  expect(neighbour.take()).toEqual(
    [...bins(4).filter((one) => !/^[45]:/.test(one)), '4:1', '4:6', '5:1', '5:6'].sort(),
  );
  expect(outside.take()).toEqual(['3:1', '3:6']);
  await setRadius(3);
  await clock.settle();
  expect(neighbour.take()).toEqual([...bins(6), '3:1', '3:6', '4:6', '5:6'].sort());
  expect(outside.take()).toEqual([...bins(6), '3:1', '3:6', '4:1', '4:6', '5:1', '5:6'].sort());
});

test('a radius that shrank before a crash is noticed afterwards', async () => {
  const state = memoryRecords();
  const first = setup({ radius: 31, state });
  const remote = new Remote(30, { 30: 5n });
  await first.connect(remote);
  await first.clock.settle();
  remote.take();
  const second = setup({ radius: 30, state });
  await second.connect(remote);
  await second.clock.settle();
  expect(remote.take()).toEqual(['30:1', '30:6', '31:1']);
  const third = setup({ radius: 30, state });
  await third.connect(remote);
  await third.clock.settle();
  expect(remote.take()).toEqual(['30:6', '31:1']);
});

test('the highest possible bin id ends the work until the peers are reviewed again', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.answer = async () => ({ topmost: MAX, count: 1, errors: [] });
  await connect(remote);
  await clock.advance(4 * MINUTE_MS);
  expect(remote.take()).toEqual(['31:1']);
  expect(await metric('puller_max_uint_errors')).toBe(1);
  expect(await metric('puller_worker')).toBe(0);
  await clock.advance(MINUTE_MS);
  expect(remote.take()).toEqual(['31:1']);
});

test('a cursor at the highest bin id leaves nothing to wait for', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: MAX });
  remote.answer = () => new Promise(() => undefined);
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1']);
});

test('progress that cannot be stored costs a second look after a restart', async () => {
  const state = memoryRecords();
  const { connect, clock } = setup({ radius: 31, state });
  const remote = new Remote(31, { 31: 5n });
  const put = state.put.bind(state);
  let full = true;
  state.put = (key, value) => (full ? Promise.reject(new Error('disk full')) : put(key, value));
  await connect(remote);
  full = false;
  await clock.advance(500);
  expect(remote.take()).toEqual(['31:1', '31:6']);
  await setup({ radius: 31, state }).connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['31:1', '31:6']);
});

test('a peer that has lost its last entries is pulled from the beginning in the affected bins', async () => {
  const { connect, disconnect, clock } = setup({ radius: 30 });
  const remote = new Remote(31, { 30: 5n, 31: 5n });
  await connect(remote);
  await clock.settle();
  await disconnect(remote);
  remote.take();
  remote.lastIds.set(30, 3n);
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['30:1', '30:4', '31:6']);
});
