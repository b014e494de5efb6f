import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { bmtAddress } from '../../../../formats/crypto/bmt/bmt.ts';
import { createEnds, FIRSTS_MAX } from '../../../../formats/crypto/bmt/ends.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';

const SEGMENT = 32;

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 131 + (i >> 8) * 7 + seed * 29 + 1) & 0xff);
}

const segment = fc.uint8Array({ minLength: SEGMENT, maxLength: SEGMENT });
property.prop(
  [
    fc.uint8Array({ minLength: 8, maxLength: 8 }),
    fc.uint8Array({ minLength: 4096, maxLength: 4096 }),
    fc.array(segment, { minLength: 1, maxLength: 5 }),
    fc.array(segment, { minLength: 1, maxLength: 3 }),
  ],
  { numRuns: 40 },
)('the prefixes are those of the addresses of the whole chunks', (span, payload, firsts, lasts) => {
  const ends = createEnds(span, payload.slice());
  ends.begin(Buffer.concat(firsts));
  for (const last of lasts) {
    payload.set(last, 4096 - SEGMENT);
    const expected = firsts.map((first) => {
      payload.set(first);
      return Buffer.from(bmtAddress(span, payload)).readUInt32BE(0);
    });
    expect([...ends.end(last)]).toEqual(expected);
  }
});

test('the maximum number of first segments is handled, each with its own result', () => {
  const payload = bytes(4096, 1);
  const span = bytes(8, 2);
  const firsts = Array.from({ length: FIRSTS_MAX }, (_, i) => bytes(SEGMENT, i));
  const ends = createEnds(span, payload);
  ends.begin(Buffer.concat(firsts));
  const found = [...ends.end(payload.subarray(-SEGMENT))];
  const expected = firsts.map((first) => {
    payload.set(first);
    return Buffer.from(bmtAddress(span, payload)).readUInt32BE(0);
  });
  expect(found).toEqual(expected);
});

test('other hashing in between, or beginning another chunk, changes nothing', () => {
  const [one, two] = [createEnds(bytes(8, 1), bytes(4096, 1)), createEnds(bytes(8, 2), bytes(4096, 2))];
  one.begin(bytes(3 * SEGMENT, 3));
  const before = [...one.end(bytes(SEGMENT, 4))];
  two.begin(bytes(SEGMENT, 5));
  two.end(bytes(SEGMENT, 6));
  keccak256(bytes(1000, 7));
  expect([...one.end(bytes(SEGMENT, 4))]).toEqual(before);
});

test('invalid segments, and too many of them, are refused', () => {
  const ends = createEnds(bytes(8, 1), bytes(4096, 1));
  for (const length of [0, 31, 33, (FIRSTS_MAX + 1) * SEGMENT]) {
    expect(() => ends.begin(new Uint8Array(length)), `${length}`).toThrow();
  }
  expect(() => ends.end(new Uint8Array(31))).toThrow();
  expect(() => createEnds(bytes(7, 1), bytes(4096, 1))).toThrow();
  expect(() => createEnds(bytes(8, 1), bytes(4095, 1))).toThrow();
});
