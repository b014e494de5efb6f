import { expect, test } from 'vitest';
import { Blocklist } from '../../../../node/p2p/peers/blocklist.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { memoryRecords } from '../memory-nodes.ts';

const entry = (n: number, durationMs: number) => ({
  overlay: n.toString(16).padStart(64, '0'),
  fullNode: true,
  reason: 'test',
  durationMs,
});

test('only a limited number of peers is blocklisted at a time: the entry that expires first gives way', async () => {
  const state = memoryRecords();
  const clock = new ManualClock();
  const blocklist = new Blocklist({ state, clock });
  await blocklist.add(entry(0, 0));
  await blocklist.add(entry(1, 2_000));
  await blocklist.add(entry(2, 1_000));
  for (let n = 3; n < 10_001; n++) await blocklist.add(entry(n, 60_000));
  const has = (n: number) => blocklist.has(entry(n, 0).overlay);
  expect([has(0), has(1), has(2), has(10_000)]).toEqual([true, true, false, true]);
  await clock.advance(2_000);
  await blocklist.add(entry(10_001, 60_000));
  await blocklist.add(entry(10_002, 90_000));
  // The first had room from an expired one.
  expect([has(0), has(1), has(3), has(10_001), has(10_002)]).toEqual([true, false, false, true, true]);
  expect(blocklist.list()).toHaveLength(10_000);
  expect(new Blocklist({ state, clock }).list()).toHaveLength(10_000);
});

const HOUR_MS = 3_600_000;

test.each([2 * HOUR_MS, -2 * HOUR_MS])(
  'a clock that is wrong by %s ms and right again neither prolongs nor ends an entry',
  async (offsetMs) => {
    const clock = new ManualClock();
    const blocklist = new Blocklist({ state: memoryRecords(), clock });
    await blocklist.add(entry(1, 5_000));
    clock.set(offsetMs);
    expect(blocklist.has(entry(1, 0).overlay)).toBe(true);
    await blocklist.add(entry(2, 5_000));
    clock.set(0);
    expect(blocklist.list()).toHaveLength(2);
    await clock.advance(5_000);
    expect(blocklist.list()).toEqual([]);
  },
);

test('an entry on disk that is dated in the future lasts as long as it says, from the start', async () => {
  const state = memoryRecords();
  const clock = new ManualClock();
  clock.set(2 * HOUR_MS);
  await new Blocklist({ state, clock }).add(entry(1, 5_000));
  clock.set(0);
  const reopened = new Blocklist({ state, clock });
  await clock.advance(4_999);
  expect(reopened.list()).toHaveLength(1);
  await clock.advance(1);
  expect(reopened.list()).toEqual([]);
});

test('an entry on disk goes on from its date', async () => {
  const state = memoryRecords();
  const clock = new ManualClock();
  await new Blocklist({ state, clock }).add(entry(1, 5_000));
  await clock.advance(4_000);
  const reopened = new Blocklist({ state, clock });
  expect(reopened.list()).toHaveLength(1);
  await clock.advance(1_000);
  expect(reopened.list()).toEqual([]);
});
