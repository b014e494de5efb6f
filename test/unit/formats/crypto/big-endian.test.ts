import { fc, test as property } from '@fast-check/vitest';
import { toBeArray } from 'ethers';
import { expect, test } from 'vitest';
import { fromBigEndian, toBigEndian } from '../../../../formats/crypto/big-endian.ts';

property.prop([fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })])(
  'numbers are as short as the reference writes them, and read back',
  (value) => {
    expect(toBigEndian(value)).toEqual(toBeArray(value));
    expect(fromBigEndian(toBigEndian(value))).toBe(value);
  },
);

test('zero takes no bytes, and leading zeros do not count', () => {
  expect(toBigEndian(0n)).toEqual(new Uint8Array(0));
  expect(fromBigEndian(new Uint8Array(0))).toBe(0n);
  expect(fromBigEndian(Uint8Array.of(0, 0, 1, 2))).toBe(258n);
});

test('a negative number is refused', () => {
  expect(() => toBigEndian(-1n)).toThrow(RangeError);
});
