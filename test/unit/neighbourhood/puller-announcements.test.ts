import { describe, expect, test } from 'vitest';
import { StreamError } from '../../../node/p2p/host.ts';
import type { Pulled } from '../../../node/protocols/pullsync/pullsync.ts';
import { MINUTE_MS, Remote, setup } from './puller-kit.ts';

describe('a peer that announces news', () => {
  function telling(po: number, last: Record<number, bigint> = {}, n = 1): Remote {
    const remote = new Remote(po, last, n);
    remote.tells = true;
    return remote;
  }

  test('has only one question waiting for it', async () => {
    const { connect, clock, metric } = setup({ radius: 0 });
    const remote = telling(3, { 0: 25n, 5: 1n });
    await connect(remote);
    await clock.settle();
    expect(remote.take()).toEqual(['0:1', '0:11', '0:21', '5:1']);
    await clock.advance(4 * MINUTE_MS);
    expect([remote.take(), remote.cursorsAsked, await metric('puller_worker')]).toEqual([[], 2, 0]);
  });

  test('is asked for what is new, page by page, and for nothing else', async () => {
    const { connect, clock, metric } = setup({ radius: 0 });
    const remote = telling(3, { 0: 5n, 4: 5n });
    await connect(remote);
    await clock.settle();
    remote.take();
    remote.grow(0, 27n);
    await clock.settle();
    expect(remote.take()).toEqual(['0:16', '0:26', '0:6']);
    expect(await metric('puller_synced_chunks\\{type="live"\\}')).toBe(22);
  });

  test('is asked for the first entry of a deep bin as soon as it announces it', async () => {
    const { connect, clock } = setup({ radius: 0 });
    const remote = telling(3);
    await connect(remote);
    await clock.advance(20 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
    remote.grow(29, 1n);
    await clock.settle();
    expect(remote.take()).toEqual(['29:1']);
  });

  test('is asked again when its answer is missing, and nothing is missed', async () => {
    const { connect, clock } = setup({ radius: 0 });
    const remote = telling(3, { 0: 5n });
    await connect(remote);
    await clock.settle();
    remote.take();
    remote.greet = () => Promise.reject(new StreamError('STREAM_RESET', 'lost'));
    remote.grow(0, 7n);
    await clock.settle();
    expect(remote.take()).toEqual([]);
    remote.greet = async () => undefined;
    await clock.advance(500);
    expect(remote.take()).toEqual(['0:6']);
  });

  test('is pulled to its end when it grows while a page is under way', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = telling(31);
    await connect(remote);
    const page = Promise.withResolvers<Pulled>();
    remote.answer = (_bin, start) => (start === 1n ? page.promise : undefined);
    remote.grow(31, 3n);
    await clock.settle();
    remote.grow(31, 4n);
    await clock.settle();
    page.resolve({ topmost: 3n, count: 3, errors: [] });
    await clock.settle();
    expect(remote.take()).toEqual(['31:1', '31:4']);
  });

  test('is pulled from the beginning when its epoch changes within a connection', async () => {
    const { connect, clock } = setup({ radius: 31 });
    const remote = telling(31, { 31: 5n });
    await connect(remote);
    await clock.settle();
    remote.take();
    remote.epoch = 2n;
    remote.grow(31, 3n);
    await clock.settle();
    expect(remote.take()).toEqual(['31:1']);
  });

  test('is asked about the bins of the new radius when that changes', async () => {
    const { connect, setRadius, clock } = setup({ radius: 2 });
    const remote = telling(31, { 1: 5n, 2: 5n });
    await connect(remote);
    await clock.settle();
    expect(remote.take()).toEqual(['2:1']);
    remote.grow(1, 6n);
    await clock.settle();
    expect(remote.take()).toEqual([]);
    await setRadius(1);
    await clock.settle();
    expect(remote.take()).toEqual(['1:1', '1:6']);
    remote.grow(1, 7n);
    await clock.settle();
    expect(remote.take()).toEqual(['1:7']);
  });

  test('is left alone once it lies too far outside, and asked again when it no longer does', async () => {
    const { connect, setRadius, clock } = setup({ radius: 4 });
    const remote = telling(4, { 4: 5n });
    await connect(remote);
    await clock.settle();
    await setRadius(9);
    remote.take();
    remote.grow(4, 6n);
    await clock.advance(10 * MINUTE_MS);
    expect(remote.take()).toEqual([]);
    await setRadius(5);
    await clock.settle();
    // Everything below the former radius is offered again.
    expect(remote.take()).toEqual(['4:1', '4:6']);
  });

  test('of the same testbed is pulled however far outside it lies, while little of its bin is unread', async () => {
    const { connect, setRadius, clock } = setup({ radius: 9, given: true });
    const [small, large] = [telling(4, { 4: 10_000n }), telling(3, { 3: 10_001n })];
    for (const remote of [small, large]) {
      remote.pageSize = 20_000n;
      await connect(remote);
    }
    // A page of so many chunks takes its time.
    await clock.advance(20_000);
    expect([small.take(), large.take()]).toEqual([['4:1'], []]);
    small.grow(4, 10_001n);
    large.grow(3, 10_002n);
    await clock.advance(20_000);
    expect([small.take(), large.take()]).toEqual([['4:10001'], []]);
    small.grow(4, 20_002n);
    await clock.advance(20_000);
    expect(small.take()).toEqual([]);
    await setRadius(5);
    await clock.advance(60_000);
    expect(large.take()).toEqual(['3:1', '3:10002']);
  });

  test('does not delay the stop of the puller', async () => {
    const { connect, puller } = setup({ radius: 0 });
    await connect(telling(3));
    await expect(puller.stop()).resolves.toBeUndefined();
  });
});
