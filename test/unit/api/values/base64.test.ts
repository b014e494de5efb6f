import { test as property } from '@fast-check/vitest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBase64 } from '../../../../node/api/values/base64.ts';

describe('base64', () => {
  property.prop([fc.uint8Array({ maxLength: 100 })])('is read in either alphabet', (bytes) => {
    const plain = Buffer.from(bytes).toString('base64');
    expect(decodeBase64(plain)).toEqual(bytes);
    expect(decodeBase64(plain.replaceAll('+', '-').replaceAll('/', '_'))).toEqual(bytes);
  });

  property.prop([fc.string({ maxLength: 40 })])('is never wrong behind its end', (text) => {
    const decoded = decodeBase64(text);
    if (typeof decoded === 'number') expect(decoded).toBeLessThanOrEqual(text.length);
  });

  test('may contain line ends', () => {
    expect(Buffer.from(decodeBase64('YW\nJ\r\nj\nZA=\n=\n') as Uint8Array).toString()).toBe('abcd');
  });

  test.each([
    ['!', 0],
    ['YWJj!', 4],
    ['YWJjZ', 4],
    ['YWJjZA', 4],
    ['YWJjZGU', 4],
    ['=', 0],
    ['YWJj=', 4],
    ['YWJjZ=', 5],
    ['YWJjZA=', 7],
    ['YWJjZA=x', 6],
    ['YWJjZA==x', 8],
    ['YWJjZGU=x', 8],
    ['YWJjZGU==', 8],
    ['YW Jj', 2],
  ])('%j is wrong at byte %i', (text, at) => {
    expect(decodeBase64(text)).toBe(at);
  });
});
