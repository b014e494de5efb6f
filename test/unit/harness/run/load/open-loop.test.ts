import { expect, test } from 'vitest';
import { atRate, UNDER_WAY_MAX } from '../../../../../harness/run/load/open-loop.ts';
import { VirtualClock } from '../../../onchain/virtual-clock.ts';

const { signal } = new AbortController();

test('operations begin evenly, however long each takes', async () => {
  const clock = new VirtualClock();
  const starts: number[] = [];
  const began = clock.monotonic();
  const arrivals = await atRate({ perSecond: 4, durationMs: 2000, clock, signal }, async (_, intendedMs) => {
    starts.push(intendedMs - began);
  });
  expect(starts).toEqual([0, 250, 500, 750, 1000, 1250, 1500, 1750]);
  expect(arrivals).toEqual({ planned: 8, dropped: 0, wallMs: 1750 });
});

test('of a network that does not keep up, operations are dropped, and nothing queues', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let sleeps = 0;
  class Clock extends VirtualClock {
    override async sleep(ms: number): Promise<void> {
      await super.sleep(ms);
      // The last arrival is told first.
      if (++sleeps === 999) setImmediate(resolve);
    }
  }
  let begun = 0;
  const rate = { perSecond: 1000, durationMs: 1000, clock: new Clock(), signal };
  const arrivals = await atRate(rate, async () => {
    begun++;
    await promise;
  });
  expect(arrivals).toEqual({ planned: 1000, dropped: 1000 - UNDER_WAY_MAX, wallMs: 999 });
  expect(begun).toBe(UNDER_WAY_MAX);
});

test('nothing begins after a failure, which is thrown', async () => {
  const clock = new VirtualClock();
  let begun = 0;
  const rate = { perSecond: 10, durationMs: 10_000, clock, signal };
  const work = async () => {
    if (++begun === 3) throw new Error('no third');
  };
  await expect(atRate(rate, work)).rejects.toThrow('no third');
  expect(begun).toBeLessThan(10);
});
