import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import {
  comesInTime,
  consensusBlock,
  isFullySynced,
  minimumValue,
  obfuscated,
  placeOf,
  stampedUntil,
} from '../../../node/incentives/rules.ts';
import vectors from '../../vectors/contracts.json' with { type: 'json' };

const ROUND_LENGTH = 152;

test.each([
  [0, 0, 'commit'],
  [37, 0, 'commit'],
  [38, 0, 'reveal'],
  [75, 0, 'reveal'],
  [76, 0, 'claim'],
  [151, 0, 'claim'],
  [152, 1, 'commit'],
] as const)('block %i is in round %i, phase %s', (block, round, phase) => {
  expect(placeOf(block, ROUND_LENGTH)).toEqual({ round, phase, offset: block % ROUND_LENGTH });
});

describe('a transaction sent at a head', () => {
  test.each([
    [35, true],
    // The contract takes no commit in the phase's last block.
    [36, false],
    [37, false],
    [38, true],
    [74, true],
    [75, false],
    [76, true],
    [150, true],
    [151, false],
  ])('of offset %i comes in time: %s', (offset, expected) => {
    expect(comesInTime(10 * ROUND_LENGTH + offset, ROUND_LENGTH)).toBe(expected);
  });
});

test('chunks stamped before the last round count, if there was one', () => {
  expect(consensusBlock(7, ROUND_LENGTH)).toBe(6 * ROUND_LENGTH);
  expect(consensusBlock(1, ROUND_LENGTH)).toBe(0);
  expect(consensusBlock(0, ROUND_LENGTH)).toBe(0);
  expect(stampedUntil(1_700_000_000n)).toBe(1_700_000_000_000_000_000n);
});

test('a batch has to last until the round after the next one begins', () => {
  const chain = { block: 1000, totalAmount: 5_000_000n, currentPrice: 24_000n };
  // Block 1000 is in round 6; round 8 begins with 1216.
  expect(minimumValue(chain, { round: 6, roundLength: ROUND_LENGTH })).toBe(5_000_000n + 216n * 24_000n);
});

test.each([
  [50, 0, false, true],
  [49, 0, false, false],
  [50, 0.1, false, false],
  [50, 0, true, false],
])(
  'a reserve with %i of 100 chunks, pull rate %d, warming up %s is synced: %s',
  (size, pullRate, isWarmingUp, expected) => {
    expect(isFullySynced({ size, capacity: 100, pullRate, isWarmingUp })).toBe(expected);
  },
);

test('a commit is what the contract makes of its parts', () => {
  const { overlay, depth, reserveCommitment, revealNonce, obfuscatedHash } = vectors.redistributionScenario;
  const parts = {
    overlay: fromHex(overlay),
    depth,
    hash: fromHex(reserveCommitment),
    key: fromHex(revealNonce),
  };
  expect(`0x${toHex(obfuscated(parts))}`).toBe(obfuscatedHash);
});
