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
  // The first found room where one had expired.
  expect([has(0), has(1), has(3), has(10_001), has(10_002)]).toEqual([true, false, false, true, true]);
  expect(blocklist.list()).toHaveLength(10_000);
  expect(new Blocklist({ state, clock }).list()).toHaveLength(10_000);
});
