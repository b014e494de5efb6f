import { expect, test } from 'vitest';
import { clockOn } from '../../../../../formats/clock.ts';
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
  let turns = 0;
  class Clock extends VirtualClock {
    override async turn(): Promise<void> {
      await super.turn();
      // The last arrival is dropped first.
      if (++turns === 1000 - UNDER_WAY_MAX) setImmediate(resolve);
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

test('operations that have ended while the process was busy make room for others', async () => {
  let ms = 0;
  const clock = clockOn({
    now: () => ms,
    monotonic: () => ms,
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    timer: () => {
      throw new Error('all are late');
    },
  });
  const arrivals = await atRate({ perSecond: 1000, durationMs: 1000, clock, signal }, async () => {
    ms = 1000;
    await clock.turn();
  });
  expect(arrivals).toMatchObject({ planned: 1000, dropped: 0 });
});

test('once the signal aborts none begins, and those under way are waited for', async () => {
  const over = new AbortController();
  let running = 0;
  const rate = { perSecond: 10, durationMs: 10_000, clock: new VirtualClock(), signal: over.signal };
  const work = async (index: number) => {
    running++;
    if (index === 2) over.abort(new Error('over'));
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  await expect(atRate(rate, work)).rejects.toThrow('over');
  expect(running).toBe(0);
});
