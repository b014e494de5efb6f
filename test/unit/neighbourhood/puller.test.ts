import { describe, expect, test } from 'vitest';
import { TimeoutError } from '../../../formats/clock.ts';
import { StreamError } from '../../../node/p2p/host.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import type { Pulled } from '../../../node/protocols/pullsync/pullsync.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { MINUTE_MS, Remote, setup } from './puller-kit.ts';

test('old and new entries are pulled at the same time', async () => {
  const { connect, clock } = setup({ radius: 30 });
  const remote = new Remote(31, { 30: 25n });
  await connect(remote);
  await clock.settle();
  expect(remote.take()).toEqual(['30:1', '30:11', '30:21', '30:26', '31:1']);
  remote.grow(30, 27n);
  await clock.settle();
  expect(remote.take()).toEqual(['30:28']);
});

test('nothing is pulled before the start; peers that connected earlier are pulled then', async () => {
  const { connect, puller, clock } = setup({ radius: 31, started: false });
  const remote = new Remote(31);
  await connect(remote);
  expect(remote.take()).toEqual([]);
  puller.start();
  await clock.settle();
  expect(remote.take()).toEqual(['31:1']);
});

test('a peer that was disconnected before the puller heard of it is left alone', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  const connecting = connect(remote);
  remote.session!.controller.abort();
  await connecting;
  await clock.advance(MINUTE_MS);
  expect(remote.asked.length).toBeLessThanOrEqual(1);
});

test('with a thousand peers nothing is kept of a stranger that has left, unlike of one that is there or in the address book', async () => {
  const [gone, here, known] = [1, 2, 3].map((n) => new Remote(31, { 31: 5n }, n)) as [Remote, Remote, Remote];
  const { connect, disconnect, clock, state } = setup({ radius: 31, strangers: [gone.id, here.id] });
  for (const remote of [gone, here, known]) await connect(remote);
  for (const remote of [gone, known]) await disconnect(remote);
  const kept = () =>
    [gone, here, known].map(({ id }) => [...state.entries('')].some(([key]) => key.includes(id)));
  await clock.advance(10 * MINUTE_MS);
  expect(kept()).toEqual([true, true, true]);
  for (let n = 3; n < 1_000; n++) await state.put(`epoch/${n}`, Uint8Array.of(1));
  await clock.advance(10 * MINUTE_MS);
  expect(kept()).toEqual([false, true, true]);
});

test('the work for a peer ends with its connection', async () => {
  const { connect, disconnect, metric } = setup({ radius: 28 });
  const remote = new Remote(31);
  await connect(remote);
  expect(await metric('puller_worker')).toBe(4);
  await disconnect(remote);
  expect(await metric('puller_worker')).toBe(0);
});

test('the next session of a peer begins when the work of the last one has ended', async () => {
  const { connect, disconnect, clock } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 5n });
  const storing = Promise.withResolvers<Pulled>();
  remote.answer = () => storing.promise;
  await connect(remote);
  await disconnect(remote);
  remote.take();
  await connect(remote);
  await clock.advance(MINUTE_MS);
  expect([remote.cursorsAsked, remote.take()]).toEqual([1, []]);
  remote.answer = undefined;
  storing.resolve({ topmost: 5n, count: 5, errors: [] });
  await clock.settle();
  expect([remote.cursorsAsked, remote.take()]).toEqual([2, ['31:6']]);
});

test('a failed page is requested again at growing intervals, at least once a minute', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.answer = () => Promise.reject(new Error('disk full'));
  await connect(remote);
  const counts = [];
  for (const ms of [499, 1, 999, 1, 2000, 4000]) {
    await clock.advance(ms);
    counts.push(remote.asked.length);
  }
  expect(counts).toEqual([1, 2, 2, 3, 4, 5]);
  await clock.advance(5 * MINUTE_MS);
  remote.take();
  await clock.advance(10 * MINUTE_MS);
  expect(remote.take()).toEqual(Array.from({ length: 10 }, () => '31:1'));
  expect(await metric('puller_worker_errors')).toBeGreaterThan(10);
});

test('a success resets the pauses', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  let failures = 3;
  remote.answer = () => (failures-- > 0 ? Promise.reject(new Error('no')) : undefined);
  await connect(remote);
  await clock.advance(500 + 1000 + 2000);
  expect(remote.take()).toEqual(['31:1', '31:1', '31:1', '31:1']);
  failures = 1;
  remote.grow(31, 5n);
  await clock.advance(499);
  expect(remote.take()).toEqual(['31:6']);
  await clock.advance(1);
  expect(remote.take()).toEqual(['31:6']);
});

test('a peer that returns an empty page at once is not asked again at once', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remote = new Remote(31);
  remote.answer = async () => ({ topmost: 0n, count: 0, errors: [] });
  await connect(remote);
  await clock.advance(1400);
  expect(remote.asked).toHaveLength(2);
});

test('a peer is slowed down when all its chunks are refused, but not when only some are', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const [bad, mixed] = [new Remote(31, { 31: 100n }, 1), new Remote(31, { 31: 100n }, 2)];
  const page = (count: number) => async (_bin: number, start: bigint) => ({
    topmost: start + 9n,
    count,
    errors: [new Error('invalid')],
  });
  bad.answer = (bin, start) => (start <= 100n ? page(0)(bin, start) : undefined);
  mixed.answer = (bin, start) => (start <= 100n ? page(1)(bin, start) : undefined);
  for (const remote of [bad, mixed]) await connect(remote);
  await clock.settle();
  expect([bad.take(), mixed.take().length]).toEqual([['31:1', '31:101'], 11]);
  await clock.advance(500);
  expect(bad.take()).toEqual(['31:11']);
});

describe('a page with chunks of a batch that this node does not know', () => {
  const unknown = new PostageError('BATCH_NOT_FOUND', 'batch not found');
  const page = async (start: bigint, error?: Error): Promise<Pulled> => ({
    topmost: start + 9n,
    count: 9,
    errors: error === undefined ? [] : [error],
  });
  const refusing = (clock: ManualClock, { until = Infinity, error = unknown } = {}) => {
    const remote = new Remote(31, { 31: 30n });
    remote.answer = (_bin, start) =>
      start === 11n ? page(start, clock.monotonic() < until ? error : undefined) : undefined;
    return remote;
  };

  test('holds up none of the others, and is asked for again until the chunks are accepted', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = refusing(clock, { until: MINUTE_MS });
    await connect(remote);
    expect(remote.take()).toEqual(['31:1', '31:11', '31:21', '31:31']);
    await clock.advance(5_000);
    expect(remote.take()).toEqual(['31:11']);
    await clock.advance(MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
  });

  test('counts as pulled when they are never accepted', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take().filter((asked) => asked === '31:11')).toHaveLength(4);
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['31:31']);
  });

  test('is asked for by the next session when this one ends before', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    remote.take();
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['31:11', '31:31']);
  });

  test('is pulled at once when no chain can change the refusal', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = refusing(clock, { error: new PostageError('STAMP_INVALID', 'wrong signer') });
    await connect(remote);
    remote.take();
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
  });

  test('counts as pulled when the peer has nothing there any more, and delays no other page for long', async () => {
    const { connect, clock, state } = setup({ radius: 30 });
    const remote = new Remote(31, { 30: 10n, 31: 10n });
    const refuse = () => Promise.resolve({ topmost: 10n, count: 9, errors: [unknown] });
    remote.answer = (_bin, start) => (start === 1n ? refuse() : undefined);
    await connect(remote);
    expect(remote.take()).toEqual(['30:1', '30:11', '31:1', '31:11']);
    const nothing = async (start: bigint, offerMs: number) => {
      await clock.sleep(offerMs);
      return { topmost: start - 1n, count: 0, errors: [] };
    };
    remote.answer = (bin, start, _signal, offerMs) =>
      start === 1n && bin === 30 ? nothing(start, offerMs as number) : undefined;
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual(['30:1', '31:1']);
    await setup({ radius: 30, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['30:11', '31:11']);
  });

  test('is asked for again when its chunks come too slowly', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    remote.take();
    const late = async (): Promise<Pulled> => {
      await clock.sleep(3 * MINUTE_MS);
      throw new TimeoutError(3 * MINUTE_MS);
    };
    remote.answer = (_bin, start) => (start === 11n ? late() : undefined);
    await clock.advance(4 * MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
    remote.answer = (_bin, start) => (start === 11n ? page(start) : undefined);
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
  });

  test('is asked for by the next session when the last answer is missing', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = refusing(clock);
    await connect(remote);
    await clock.advance(5 * MINUTE_MS);
    expect(remote.take().filter((asked) => asked === '31:11')).toHaveLength(3);
    remote.answer = (_bin, start) =>
      start === 11n ? Promise.reject(new StreamError('STREAM_RESET', 'no')) : undefined;
    await clock.advance(60 * MINUTE_MS);
    expect(remote.take()).toEqual(['31:11']);
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toEqual(['31:11', '31:31']);
  });

  test('waits with at most 63 others of its bin, and further ones count as pulled', async () => {
    const { connect, clock, state } = setup({ radius: 31 });
    const remote = new Remote(31, { 31: 25_000n });
    remote.answer = (_bin, start) =>
      start <= 25_000n ? Promise.resolve({ topmost: start + 249n, count: 1, errors: [unknown] }) : undefined;
    await connect(remote);
    expect(remote.take()).toHaveLength(101);
    await clock.advance(10_000);
    expect(remote.take()).toHaveLength(64);
    await setup({ radius: 31, state, clock }).connect(remote);
    expect(remote.take()).toHaveLength(65);
  });
});

test('at most a thousand chunks per second are pulled from all peers together', async () => {
  const { connect, clock } = setup({ radius: 31 });
  const remotes = [1, 2, 3].map((n) => new Remote(31, { 31: 2_000n }, n));
  for (const remote of remotes) remote.pageSize = 250n;
  for (const remote of remotes) await connect(remote);
  await clock.settle();
  const pages = () =>
    remotes.reduce((sum, { asked }) => sum + asked.filter((one) => one !== '31:2001').length, 0);
  expect(pages()).toBeLessThanOrEqual(4 + 3);
  await clock.advance(1000);
  expect(pages()).toBeLessThanOrEqual(8 + 3);
  await clock.advance(4000);
  expect(pages()).toBe(24);
});

test('the rate counts old entries, not new ones, over two windows', async () => {
  const clock = new ManualClock();
  const { connect, puller } = setup({ radius: 31, clock, rateWindowMs: 10_000 });
  await clock.advance(10_000 - (clock.now() % 10_000));
  const remote = new Remote(31, { 31: 100n });
  await connect(remote);
  await clock.settle();
  remote.grow(31, 150n);
  await clock.settle();
  expect(puller.rate()).toBe(10);
  await clock.advance(10_000);
  expect(puller.rate()).toBe(10);
  await clock.advance(4_000);
  expect(puller.rate()).toBe(6);
  await clock.advance(6_000);
  expect(puller.rate()).toBe(0);
});

test('the counters distinguish old entries from new ones', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 30n });
  await connect(remote);
  await clock.settle();
  remote.grow(31, 35n);
  await clock.settle();
  expect(await metric('puller_synced_chunks\\{type="historical"\\}')).toBe(30);
  expect(await metric('puller_synced_chunks\\{type="live"\\}')).toBe(5);
  expect(await metric('puller_worker_iterations')).toBe(5);
});

test('the first full sync is complete once everything older has been pulled, and is counted once', async () => {
  const { connect, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 30n });
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(0);
  await connect(remote);
  await clock.settle();
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(1);
  await connect(new Remote(31, { 31: 30n }));
  await clock.settle();
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(1);
});

test('a peer that leaves, or a node that stops, before everything has been pulled completes no full sync', async () => {
  const { connect, disconnect, puller, clock, metric } = setup({ radius: 31 });
  const remotes = [new Remote(31, { 31: 30n }, 1), new Remote(31, { 31: 30n }, 2)] as const;
  for (const remote of remotes) {
    // The page never comes.
    remote.answer = (_bin, _start, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
  await connect(remotes[0]);
  await clock.settle();
  expect(remotes[0].asked).toContain('31:1');
  await disconnect(remotes[0]);
  await connect(remotes[1]);
  await clock.settle();
  await puller.stop();
  expect(await metric('puller_worker')).toBe(0);
  expect(await metric('init_full_sync_duration_minutes_count')).toBe(0);
});

test('stopping waits for what is being stored, and nothing is asked for afterwards', async () => {
  const { connect, puller, clock, metric } = setup({ radius: 31 });
  const remote = new Remote(31, { 31: 5n });
  const storing = Promise.withResolvers<Pulled>();
  remote.answer = (_bin, start) => (start === 1n ? storing.promise : undefined);
  await connect(remote);
  let stopped = false;
  const stopping = puller.stop().then(() => {
    stopped = true;
    return undefined;
  });
  await clock.advance(MINUTE_MS);
  expect(stopped).toBe(false);
  storing.resolve({ topmost: 5n, count: 5, errors: [] });
  await stopping;
  remote.take();
  await connect(new Remote(31, {}, 2));
  await clock.advance(10 * MINUTE_MS);
  expect(remote.take()).toEqual([]);
  expect(await metric('puller_worker')).toBe(0);
});

test('a puller that was never started can be stopped', async () => {
  const { connect, puller } = setup({ started: false });
  await connect(new Remote(31));
  await expect(puller.stop()).resolves.toBeUndefined();
});
