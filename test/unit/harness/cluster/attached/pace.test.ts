import { expect, test } from 'vitest';
import { paceBetween } from '../../../../../harness/cluster/attached/probe-chain.ts';

test.each([
  ['a steady chain', [100, 105, 110, 115], 5000],
  [
    'a chain that began years ago and is young',
    [1_700_000_000, 1_795_000_000, 1_795_000_001, 1_795_000_002],
    1000,
  ],
  ['blocks that were made at once', [100, 100, 100, 100, 102, 104], 2000],
  ['a stall', [100, 101, 102, 160, 161], 1000],
  ['blocks at the same second only', [100, 100, 100], 0],
  ['one block', [100], 0],
] as const)('the pace for %s is the usual one', (_, times, expected) => {
  expect(paceBetween(times)).toBe(expected);
});
