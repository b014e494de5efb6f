import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import {
  bitsOf,
  bitVectorOf,
  checkAck,
  checkGet,
  checkOffer,
  checkOffered,
  newsDue,
} from '../../../../node/protocols/pullsync/rules.ts';

test('bits 0 and 9 of ten are the bytes 01 02, least significant bit first', () => {
  expect(toHex(bitVectorOf(10, [0, 9]))).toBe('0102');
});

test.each([
  [0, 1],
  [7, 1],
  [8, 2],
  [250, 32],
])('%i bits take %i bytes', (count, length) => {
  expect(bitVectorOf(count, [])).toHaveLength(length);
});

test('a vector with fewer bits than chunks is refused, one with more is read up to the last chunk', () => {
  expect(() => bitsOf(Uint8Array.of(1), 9)).toThrow('8 bits for 9 chunks');
  expect(bitsOf(new Uint8Array(4).fill(255), 3)).toEqual([0, 1, 2]);
  expect(bitsOf(new Uint8Array(0), 0)).toEqual([]);
});

property.prop([fc.uniqueArray(fc.nat(249)), fc.integer({ min: 250, max: 1285 })])(
  'what is set is read back',
  (set, count) => {
    expect(bitsOf(bitVectorOf(count, set), count)).toEqual(set.toSorted((a, b) => a - b));
  },
);

test.each([-1, 32, 2 ** 31 - 1])('bin %i cannot be requested', (bin) => {
  expect(() => checkGet({ bin, start: 1n })).toThrow(`bin ${bin} asked for, expected 0 to 31`);
});

test('exactly 32 cursors are accepted', () => {
  const ack = (count: number) => ({ cursors: Array.from({ length: count }, () => 0n), epoch: 1n });
  expect(() => checkAck(ack(32))).not.toThrow();
  for (const count of [0, 31, 33])
    expect(() => checkAck(ack(count))).toThrow('cursors received, expected 32');
});

test.each([31, 33, 0])('a hash of %i bytes is refused', (length) => {
  const hashes = [32, length, 32].map((size) => new Uint8Array(size));
  expect(() => checkOffered('hash', 32, ...hashes)).toThrow(
    `inconsistent hash length: ${length} bytes, expected 32`,
  );
});

test('an offer that ends before it begins is refused', () => {
  expect(() => checkOffer({ topmost: 4n, entries: [1] }, 5n)).toThrow('offer up to 4 for chunks from 5');
  expect(() => checkOffer({ topmost: 5n, entries: [1] }, 5n)).not.toThrow();
});

test('an offer of more than a page is refused, in either version', () => {
  const page = (length: number) => ({ topmost: 999n, entries: Array.from({ length }) });
  expect(() => checkOffer(page(250), 1n)).not.toThrow();
  expect(() => checkOffer(page(251), 1n)).toThrow('offer of 251 chunks, expected at most 250');
});

describe('peers are told', () => {
  const NEVER = Number.NEGATIVE_INFINITY;

  test.each([
    ['a message', 1, 4, 100, 1000],
    ['a message to a crowd', 15, 24, 100, 10_000],
    ['an upload', 16, 4, 100, 1000],
    ['an upload to a crowd', 16, 14, 700, 5500],
    ['an upload to a large crowd', 16, 24, 1300, 10_000],
    ['an upload to a huge crowd', 16, 1000, 59_860, 10_000],
  ])(
    'of %s (%i puts, %i peers) %i ms after the last put, within %i ms',
    (...[, puts, peers, idleMs, maxMs]) => {
      const since = 1_000_000;
      const due = (lastAt: number) => newsDue({ since, lastAt, puts, toldAt: NEVER }, peers) - since;
      expect([due(since), due(since + 100_000)]).toEqual([Math.min(idleMs, maxMs), maxMs]);
    },
  );

  test.each([
    ['few peers', 4, 100],
    ['a crowd', 14, 4500],
    ['a huge crowd', 1000, 9000],
  ])('again, when they are %s, not before some time has passed', (_what, peers, apartMs) => {
    const due = newsDue({ since: 1000, lastAt: 1000, puts: 1, toldAt: 1000 }, peers);
    expect(due - 1000).toBe(apartMs);
  });
});
