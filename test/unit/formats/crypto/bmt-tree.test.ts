import { fc, test as property } from '@fast-check/vitest';
import { createKeccak } from 'hash-wasm';
import { describe, expect, test } from 'vitest';
import { bmtAddress } from '../../../../formats/crypto/bmt/bmt.ts';
import { createKeyedHasher, proveSegment } from '../../../../formats/crypto/bmt/tree.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import vectors from '../../../vectors/bmt.json' with { type: 'json' };
import { type PayloadInput, payloadOf } from './payload.ts';

/** Not ours, and in WebAssembly: counting coverage does not slow it down. */
const keccak = await createKeccak(256);
const keccakOf = (bytes: Uint8Array) => keccak.init().update(bytes).digest('binary');

interface Case {
  readonly name: string;
  readonly input?: PayloadInput & { readonly span?: string; readonly prefix?: string };
  readonly expected: { readonly transformedAddress?: string };
}

const cases = (vectors.cases as Case[]).filter(
  ({ input, expected }) => input?.prefix !== undefined && expected.transformedAddress !== undefined,
);
const payloads = fc.uint8Array({ maxLength: 4096, size: 'max' });
const spans = fc.uint8Array({ minLength: 8, maxLength: 8 });
const prefixes = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 32, maxLength: 32 }));

/** As the rule is written: zero padded to 4096 bytes, the prefix before every hash. */
function keyedByTheBook(prefix: Uint8Array, span: Uint8Array, payload: Uint8Array): Uint8Array {
  const hash = (...parts: Uint8Array[]) => keccakOf(Buffer.concat([prefix, ...parts]));
  let level = new Uint8Array(4096);
  level.set(payload);
  while (level.length > 32) {
    const above = new Uint8Array(level.length / 2);
    for (let at = 0; at < level.length; at += 64) above.set(hash(level.subarray(at, at + 64)), at / 2);
    level = above;
  }
  return hash(span, level);
}

function addressFrom(
  { segment, sisters }: ReturnType<typeof proveSegment>,
  { index, span, prefix }: { index: number; span: Uint8Array; prefix: Uint8Array },
): Uint8Array {
  let node = segment;
  for (const [depth, sister] of sisters.entries()) {
    const pair = (index >> depth) % 2 === 0 ? [prefix, node, sister] : [prefix, sister, node];
    node = keccakOf(Buffer.concat(pair));
  }
  return keccakOf(Buffer.concat([prefix, span, node]));
}

describe('a keyed hash', () => {
  test('has vectors', () => expect(cases.length).toBeGreaterThan(0));

  test.each(cases)('$name', ({ input, expected }) => {
    const hasher = createKeyedHasher(fromHex(input!.prefix!));
    expect(toHex(hasher.address(fromHex(input!.span!), payloadOf(input!)))).toBe(expected.transformedAddress);
  });

  property.prop([prefixes, spans, payloads], { numRuns: 30 })(
    'is that of the written rule for any key and payload',
    (prefix, span, payload) => {
      const address = createKeyedHasher(prefix).address(span, payload);
      expect(toHex(address)).toBe(toHex(keyedByTheBook(prefix, span, payload)));
    },
  );

  test('is that of the written rule for every number of leaf pairs, whole and broken', () => {
    const key = Uint8Array.from({ length: 32 }, (_, at) => at * 7);
    const hasher = createKeyedHasher(key);
    const span = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    const payload = Uint8Array.from({ length: 4096 }, (_, at) => (at * 131 + (at >> 8) * 7 + 1) & 0xff);
    for (let pairs = 1; pairs <= 64; pairs++) {
      for (const length of [pairs * 64 - 63, pairs * 64 - 32, pairs * 64]) {
        const part = payload.subarray(0, length);
        const expected = toHex(keyedByTheBook(key, span, part));
        expect(toHex(hasher.address(span, part)), `${length} bytes`).toBe(expected);
      }
    }
    const nothing = new Uint8Array();
    expect(toHex(hasher.address(span, nothing))).toBe(toHex(keyedByTheBook(key, span, nothing)));
  });

  test('leaves nothing behind for other keys and other hashes', () => {
    const [span, payload] = [new Uint8Array(8), new Uint8Array(100).fill(9)];
    const keys = [1, 2].map((fill) => new Uint8Array(32).fill(fill));
    const [one, two] = keys.map(createKeyedHasher);
    for (let n = 0; n < 2; n++) {
      expect(one!.address(span, payload)).toEqual(keyedByTheBook(keys[0]!, span, payload));
      expect(two!.address(span, payload)).toEqual(keyedByTheBook(keys[1]!, span, payload));
      expect(bmtAddress(span, payload)).toEqual(keyedByTheBook(new Uint8Array(), span, payload));
    }
  });

  test('without a key is the address of the chunk', () => {
    const [span, payload] = [Uint8Array.of(3, 0, 0, 0, 0, 0, 0, 0), Uint8Array.of(1, 2, 3)];
    expect(createKeyedHasher(new Uint8Array()).address(span, payload)).toEqual(bmtAddress(span, payload));
  });
});

describe('the proof of a segment', () => {
  property.prop([prefixes, spans, payloads, fc.nat(127)], { numRuns: 30 })(
    'leads from any segment of any payload to the address, plain and keyed',
    (prefix, span, payload, index) => {
      const padded = new Uint8Array(4096);
      padded.set(payload);
      const proof = proveSegment(payload, index, prefix);
      expect(proof.sisters).toHaveLength(7);
      expect(toHex(proof.segment)).toBe(toHex(padded.subarray(32 * index, 32 * index + 32)));
      expect(toHex(addressFrom(proof, { index, span, prefix }))).toBe(
        toHex(keyedByTheBook(prefix, span, payload)),
      );
    },
  );

  test('does not verify for another segment', () => {
    const payload = Uint8Array.from({ length: 4096 }, (_, at) => at % 251);
    const span = new Uint8Array(8);
    const proof = proveSegment(payload, 5);
    const prefix = new Uint8Array();
    expect(addressFrom(proof, { index: 5, span, prefix })).toEqual(bmtAddress(span, payload));
    for (const index of [0, 4, 6, 127]) {
      expect(addressFrom(proof, { index, span, prefix })).not.toEqual(bmtAddress(span, payload));
    }
  });
});
