import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { cacFromData, isCac, makeCac } from '../../../../formats/chunk/cac.ts';
import { decodeSpan, encodeSpan } from '../../../../formats/chunk/span.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import vectors from '../../../vectors/bmt.json' with { type: 'json' };
import { type PayloadInput, payloadOf } from '../crypto/payload.ts';

interface Case {
  readonly name: string;
  readonly input?: PayloadInput & {
    readonly address?: string;
    readonly chunkData?: string;
    readonly span?: string;
  };
  readonly expected: { readonly address?: string; readonly valid?: boolean; readonly error?: string };
}

const cases = vectors.cases as Case[];
const spans = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

function dataOf(input: NonNullable<Case['input']>): Uint8Array {
  if (input.chunkData !== undefined) return fromHex(input.chunkData);
  return Buffer.concat([fromHex(input.span!), payloadOf(input)]);
}

test.each(cases.filter(({ name }) => name.startsWith('chunk validity')))('$name', ({ input, expected }) => {
  const data = dataOf(input!);
  expect(isCac(fromHex(input!.address!), data)).toBe(expected.valid);
  if (expected.error !== undefined) expect(() => cacFromData(data)).toThrow(expected.error);
});

test.each(cases.filter(({ expected }) => expected.address !== undefined))('$name', ({ input, expected }) => {
  const span = decodeSpan(fromHex(input!.span!));
  const chunk = makeCac(span, payloadOf(input!));
  expect(toHex(chunk.address)).toBe(expected.address);
  expect(toHex(chunk.identity)).toBe(expected.address);
  expect(toHex(chunk.data)).toBe(toHex(dataOf(input!)));
  expect(chunk.kind).toBe('cac');
});

property.prop([spans, fc.uint8Array({ minLength: 1, maxLength: 4096 }), fc.nat()])(
  'a made chunk is valid, and with any changed bit it is not',
  (span, payload, at) => {
    const { address, data } = makeCac(span, payload);
    expect(isCac(address, data)).toBe(true);
    const bit = at % (data.length * 8);
    data[bit >> 3]! ^= 1 << (bit & 7);
    expect(isCac(address, data)).toBe(false);
  },
);

test('a span is 8 bytes, little-endian', () => {
  expect(toHex(encodeSpan(258n))).toBe('0201000000000000');
  fc.assert(fc.property(spans, (span) => decodeSpan(encodeSpan(span)) === span));
});

test('a span is read wherever the chunk lies in memory', () => {
  const page = Buffer.concat([new Uint8Array(3), encodeSpan(77n), new Uint8Array(9)]);
  expect(decodeSpan(page.subarray(3))).toBe(77n);
});
