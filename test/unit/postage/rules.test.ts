import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { secondsLeft, slotsPerBucket, theoreticalRadius } from '../../../node/postage/rules.ts';

describe('radius', () => {
  test.each([
    [0n, 100, 0],
    [100n, 100, 0],
    [101n, 100, 1],
    [200n, 100, 1],
    [201n, 100, 2],
    [1n << 40n, 4_194_304, 18],
  ])('a commitment of %s chunks in reserves of %s makes radius %s', (commitment, capacity, radius) => {
    expect(theoreticalRadius(commitment, capacity)).toBe(radius);
  });

  property.prop([fc.bigInt({ min: 0n, max: 1n << 200n }), fc.integer({ min: 1, max: 2 ** 32 })])(
    'is the smallest at which the commitment fits',
    (sum, capacity) => {
      const radius = theoreticalRadius(sum, capacity);
      const room = (bits: number) => BigInt(capacity) << BigInt(bits);
      expect(room(radius) >= sum).toBe(true);
      expect(radius === 0 || room(radius - 1) < sum).toBe(true);
    },
  );
});

describe('lifetime', () => {
  const chain = { block: 20, totalAmount: 192_000n, currentPrice: 24_000n };

  test('is the remaining balance over the price, in seconds, rounded down', () => {
    expect(secondsLeft({ value: 7_668_000n }, chain, 1000)).toBe(311);
    expect(secondsLeft({ value: 7_668_000n }, chain, 5000)).toBe(1557);
  });

  test('of a batch that outlives every reader is the largest whole number that JSON carries exactly', () => {
    expect(secondsLeft({ value: 2n ** 255n }, chain, 5000)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('is unknown while nothing is charged', () => {
    expect(secondsLeft({ value: 7_668_000n }, { ...chain, currentPrice: 0n }, 5000)).toBe(-1);
  });
});

test.each([
  [17, 2],
  [18, 4],
  [20, 16],
  [24, 256],
  [48, 2 ** 32],
  [64, 2 ** 32],
  [255, 2 ** 32],
])('a batch of depth %s has %s stamps per bucket', (depth, slots) => {
  expect(slotsPerBucket({ depth, bucketDepth: 16 })).toBe(slots);
});
