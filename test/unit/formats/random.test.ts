import { expect, test } from 'vitest';
import { seededRandom } from '../../../formats/random.ts';

test('a seed gives the same bytes in whatever pieces they are drawn', () => {
  const whole = seededRandom('pieces', '7').bytes(5000);
  const random = seededRandom('pieces', '7');
  const pieces = [0, 5, 250, 1, 255, 256, 257, 8, 2500].map((size) => random.bytes(size));
  const last = random.bytes(5000 - pieces.reduce((sum, piece) => sum + piece.length, 0));
  expect(Buffer.concat([...pieces, last]).equals(whole)).toBe(true);
});

test('bytes that were given out stay as they are, and changing them changes no others', () => {
  const random = seededRandom('kept');
  const first = random.bytes(16);
  const before = Buffer.from(first);
  random.bytes(1000);
  expect(before.equals(first)).toBe(true);
  first.fill(0);
  const other = seededRandom('kept');
  other.bytes(16);
  expect(random.bytes(0)).toEqual(new Uint8Array(0));
  other.bytes(1000);
  expect(random.bytes(16)).toEqual(other.bytes(16));
});

test('numbers continue where bytes end', () => {
  const random = seededRandom('numbers');
  random.bytes(3);
  const number = random.below(2 ** 32);
  const bytes = Buffer.from(seededRandom('numbers').bytes(11).subarray(3));
  expect(number).toBe(Number(bytes.readBigUInt64LE() % 2n ** 32n));
});
