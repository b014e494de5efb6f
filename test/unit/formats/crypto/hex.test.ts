import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { equalBytes, fromHex, toHex } from '../../../../formats/crypto/hex.ts';

property.prop([fc.uint8Array()])(
  'bytes survive a round trip through hex, in any case, with and without prefix',
  (bytes) => {
    expect(fromHex(toHex(bytes))).toEqual(bytes);
    expect(fromHex(`0x${toHex(bytes).toUpperCase()}`)).toEqual(bytes);
  },
);

test('text that is not hex is refused, naming the first bad character', () => {
  expect(() => fromHex('0g')).toThrow(/'g'/);
  expect(() => fromHex('abc')).toThrow(/odd length 3/);
});

test('bytes are equal when length and content are', () => {
  expect(equalBytes(fromHex('00ff'), fromHex('00ff'))).toBe(true);
  expect(equalBytes(fromHex('00ff'), fromHex('00fe'))).toBe(false);
  expect(equalBytes(fromHex('00'), fromHex('0000'))).toBe(false);
});
