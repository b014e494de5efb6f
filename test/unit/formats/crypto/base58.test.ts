import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { fromBase58, toBase58 } from '../../../../formats/crypto/base58.ts';

test.each([
  ['', ''],
  ['00', '1'],
  ['0000', '11'],
  ['61', '2g'],
  ['626262', 'a3gV'],
  ['00eb15231dfceb60925886b67d065299925915aeb172c06647', '1NS17iag9jJgTHD1VXjvLCEnZuQ3rJDE9L'],
])('%s in base 58 is "%s"', (hex, text) => {
  expect(toBase58(Buffer.from(hex, 'hex'))).toBe(text);
  expect(fromBase58(text)).toEqual(new Uint8Array(Buffer.from(hex, 'hex')));
});

property.prop([fc.uint8Array({ maxLength: 80 })])('whatever was written is read again', (bytes) => {
  expect(fromBase58(toBase58(bytes))).toEqual(bytes);
});

test.each(['0', 'O', 'I', 'l', ' ', 'é'])('"%s" is not valid base 58', (character) => {
  expect(() => fromBase58(`1${character}`)).toThrow(`'${character}'`);
});
