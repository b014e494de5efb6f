import { fc, test as property } from '@fast-check/vitest';
import { createKeccak } from 'hash-wasm';
import { expect, test } from 'vitest';
import { bmtAddress } from '../../../../formats/crypto/bmt/bmt.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';
import vectors from '../../../vectors/bmt.json' with { type: 'json' };
import { type PayloadInput, payloadOf } from './payload.ts';

const keccak = await createKeccak(256);
const keccakOf = (bytes: Uint8Array) => keccak.init().update(bytes).digest('binary');

interface Case {
  readonly name: string;
  readonly input?: PayloadInput & { readonly span?: string; readonly prefix?: string };
  readonly expected: { readonly bmtRoot?: string; readonly address?: string; readonly zeroHashes?: string[] };
}

const cases: Case[] = vectors.cases;
const hashed = cases.filter(
  ({ input, expected }) => expected.bmtRoot !== undefined && input?.prefix === undefined,
);

/** As the rule is written: zero padded to 4096 bytes, seven levels, one hash at a time. */
function rootByTheBook(payload: Uint8Array): Uint8Array {
  let level = new Uint8Array(4096);
  level.set(payload);
  while (level.length > 32) {
    const above = new Uint8Array(level.length / 2);
    for (let at = 0; at < level.length; at += 64) above.set(keccakOf(level.subarray(at, at + 64)), at / 2);
    level = above;
  }
  return level;
}

const SPAN = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const addressByTheBook = (payload: Uint8Array) => keccak256(SPAN, rootByTheBook(payload));

test.each(hashed)('$name', ({ input, expected }) => {
  const payload = payloadOf(input!);
  const span = fromHex(input!.span!);
  expect(toHex(keccak256(span, fromHex(expected.bmtRoot!)))).toBe(expected.address);
  expect(toHex(bmtAddress(span, payload))).toBe(expected.address);
});

test('subtrees of zeros have the roots of the vectors, up to the root of an empty payload', () => {
  const [zero, ...above] = cases.find(({ expected }) => expected.zeroHashes !== undefined)!.expected
    .zeroHashes!;
  let node = fromHex(zero!);
  for (const expected of above) {
    node = keccak256(node, node);
    expect(toHex(node)).toBe(expected);
  }
  expect(bmtAddress(SPAN, new Uint8Array())).toEqual(keccak256(SPAN, node));
});

test('the address is that of the written rule for every number of leaf pairs, whole and broken', () => {
  const payload = Uint8Array.from({ length: 4096 }, (_, i) => (i * 131 + (i >> 8) * 7 + 1) & 0xff);
  for (let pairs = 1; pairs <= 64; pairs++) {
    for (const length of [pairs * 64 - 63, pairs * 64 - 32, pairs * 64 - 1, pairs * 64]) {
      const part = payload.subarray(0, length);
      expect(toHex(bmtAddress(SPAN, part)), `${length} bytes`).toBe(toHex(addressByTheBook(part)));
    }
  }
});

property.prop([fc.uint8Array({ maxLength: 4096, size: 'max' })], { numRuns: 60 })(
  'the address is that of the written rule for any payload, whatever was hashed before',
  (payload) => {
    expect(toHex(bmtAddress(SPAN, payload))).toBe(toHex(addressByTheBook(payload)));
  },
);

property.prop([fc.uint8Array({ maxLength: 2048 }), fc.nat(2048)])(
  'trailing zero bytes of the payload do not change the address',
  (payload, zeros) => {
    const longer = new Uint8Array(payload.length + zeros);
    longer.set(payload);
    expect(bmtAddress(SPAN, longer)).toEqual(bmtAddress(SPAN, payload));
  },
);

property.prop([fc.uint8Array({ minLength: 8, maxLength: 8 }), fc.uint8Array({ maxLength: 4096 })])(
  'the address is the hash of span and root',
  (span, payload) => {
    expect(bmtAddress(span, payload)).toEqual(keccak256(span, rootByTheBook(payload)));
  },
);

test('longer payloads and invalid spans are refused', () => {
  expect(() => bmtAddress(SPAN, new Uint8Array(4097))).toThrow();
  expect(() => bmtAddress(new Uint8Array(7), new Uint8Array())).toThrow();
});
