import { fc, test as property } from '@fast-check/vitest';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { expect, test } from 'vitest';
import { transcrypt } from '../../../../formats/crypto/counter-mode.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';
import vectors from '../../../vectors/encryption.json' with { type: 'json' };

interface Case {
  name: string;
  input: { key?: string; span?: string; initCounter?: number; length?: number };
  expected: { first64?: string; last64?: string; keccak256OfOutput?: string; encryptedSpan?: string };
}

const cases = vectors.cases as Case[];

/** As the rule is written, one segment at a time. */
function byTheBook(key: Uint8Array, bytes: Uint8Array, counter: number): Uint8Array {
  return bytes.map((byte, i) => {
    const number = Buffer.alloc(4);
    number.writeUInt32LE((counter + Math.floor(i / 32)) % 2 ** 32);
    const segmentKey = keccak_256(keccak_256(Buffer.concat([key, number])));
    return byte ^ (segmentKey[i % 32] as number);
  });
}

test.each(cases.filter(({ input }) => input.initCounter !== undefined))('$name', ({ input, expected }) => {
  const output = transcrypt(fromHex(input.key!), new Uint8Array(input.length!), input.initCounter);
  expect(toHex(output.subarray(0, 64))).toBe(expected.first64);
  expect(toHex(output.subarray(-64))).toBe(expected.last64);
  expect(toHex(keccak256(output))).toBe(expected.keccak256OfOutput);
});

test.each(cases.filter(({ input }) => input.span !== undefined))('$name', ({ input, expected }) => {
  expect(toHex(transcrypt(fromHex(input.key!), fromHex(input.span!), 128))).toBe(expected.encryptedSpan);
});

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

const counter = fc.oneof(fc.nat(1000), fc.integer({ min: 2 ** 32 - 5, max: 2 ** 32 - 1 }));
property.prop([key, fc.uint8Array({ maxLength: 200 }), counter], { numRuns: 100 })(
  'equals the written rule for every length and counter, even where the counter wraps around',
  (secret, bytes, from) => {
    expect(toHex(transcrypt(secret, bytes, from))).toBe(toHex(byTheBook(secret, bytes, from)));
  },
);

test('applied twice yields the original, even beyond one chunk', () => {
  const content = Uint8Array.from({ length: 10_000 }, (_, i) => i % 251);
  fc.assert(
    fc.property(key, fc.integer({ min: 4000, max: content.length }), (secret, length) => {
      const bytes = content.subarray(0, length);
      const once = transcrypt(secret, bytes);
      expect(Buffer.compare(once, bytes)).not.toBe(0);
      expect(Buffer.compare(transcrypt(secret, once), bytes)).toBe(0);
    }),
    { numRuns: 20 },
  );
});

test('pieces of whole segments join to the result of one call', () => {
  const secret = new Uint8Array(32).fill(7);
  const bytes = new Uint8Array(9000).fill(1);
  const pieces = [0, 4096, 8192].map((at) => transcrypt(secret, bytes.subarray(at, at + 4096), at / 32));
  expect(Buffer.compare(Buffer.concat(pieces), transcrypt(secret, bytes))).toBe(0);
});

test('does not affect later hashing', () => {
  const before = toHex(keccak256(Buffer.from('abc')));
  transcrypt(new Uint8Array(32).fill(1), new Uint8Array(100));
  expect(toHex(keccak256(Buffer.from('abc')))).toBe(before);
});

test('a key of another length is an error of the caller', () => {
  expect(() => transcrypt(new Uint8Array(31), new Uint8Array(1))).toThrow();
});
