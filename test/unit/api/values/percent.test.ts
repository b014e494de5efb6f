import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { percentDecode, percentEncode, queryValues } from '../../../../node/api/values/percent.ts';
import { textOf } from '../../../../node/manifest/byte-text.ts';

property.prop([fc.uint8Array()])('any bytes survive as a part of a URL', (bytes) => {
  const text = textOf(bytes);
  expect(percentDecode(percentEncode(text))).toBe(text);
});

test.each([
  ['a%20b', 'a b'],
  ['%E9', '\udce9'],
  ['\xe9', '\udce9'],
  ['\xc3\xa9%c3%A9', 'éé'],
  ['a+b', 'a+b'],
  ['%', undefined],
  ['%4', undefined],
  ['%zz', undefined],
])('%s is decoded as %j', (encoded, text) => {
  expect(percentDecode(encoded)).toBe(text);
});

test('a query has the first value of each name', () => {
  const values = queryValues('name=a+b%E9&x&name=other&&y=1=2&bad=%zz&%C3%A9=%2B');
  expect(Object.fromEntries(values)).toEqual({
    name: 'a b\udce9',
    x: '',
    y: '1=2',
    bad: '%zz',
    é: '+',
  });
});
