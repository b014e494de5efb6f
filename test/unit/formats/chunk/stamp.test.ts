import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import {
  bucketOf,
  decodeStamp,
  encodeStamp,
  type Stamp,
  stampDigest,
  stampHash,
  stampIndex,
} from '../../../../formats/chunk/stamp.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner, recoverSigner } from '../../../../formats/crypto/signer.ts';
import vectors from '../../../vectors/postage.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input: Record<string, string | number>;
  readonly expected: Record<string, unknown>;
}

const cases = vectors.cases as unknown as Case[];
const named = (start: string) => cases.filter(({ name }) => name.startsWith(start));
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const stamps: fc.Arbitrary<Stamp> = fc.record({
  batchId: bytes(32),
  index: bytes(8),
  timestamp: bytes(8),
  signature: bytes(65),
});

test.each(named('stamp of CAC'))('$name', ({ input, expected }) => {
  const address = fromHex(String(input['chunkAddress']));
  const batchId = fromHex(String(input['batchId']));
  const signer = createSigner(fromHex(String(input['privateKey'])));
  const bucket = bucketOf(address, Number(input['bucketDepth']));
  const index = stampIndex(bucket, Number(input['indexInBucket']));
  const timestamp = Buffer.alloc(8);
  timestamp.writeBigUInt64BE(BigInt(input['timestampNs']!));
  const digest = stampDigest(address, batchId, index, timestamp);
  const stamp = { batchId, index, timestamp, signature: signer.sign(digest) };
  expect(bucket).toBe(expected['bucket']);
  expect(toHex(index)).toBe(expected['index']);
  expect(toHex(timestamp)).toBe(expected['timestamp']);
  expect(toHex(digest)).toBe(expected['digest']);
  expect(toHex(stamp.signature)).toBe(expected['signature']);
  expect(toHex(encodeStamp(stamp))).toBe(expected['marshalled']);
  expect(toHex(stampHash(stamp))).toBe(expected['stampHash']);
  expect(recoverSigner(digest, stamp.signature)).toEqual(signer.address);
});

test.each(named('stamp index bytes'))('$name', ({ input, expected }) => {
  expect(toHex(stampIndex(Number(input['bucket']), Number(input['index'])))).toBe(expected['indexBytes']);
});

test.each(named('bucket of an address'))('$name', ({ input, expected }) => {
  const address = fromHex(String(input['address']));
  const buckets = Object.keys(expected).map((depth) => [depth, bucketOf(address, Number(depth))]);
  expect(Object.fromEntries(buckets)).toEqual(expected);
});

test('a bucket depth of 0 gives one bucket, one of 32 a bucket for every four bytes', () => {
  const address = fromHex(`${'ff'.repeat(4)}${'00'.repeat(28)}`);
  expect(bucketOf(address, 0)).toBe(0);
  expect(bucketOf(address, 32)).toBe(0xffffffff);
});

describe('encoding', () => {
  property.prop([stamps])('a stamp survives a round trip through its 113 bytes', (stamp) => {
    const encoded = encodeStamp(stamp);
    expect(encoded).toHaveLength(113);
    expect(decodeStamp(encoded)).toEqual(stamp);
  });

  test.each(cases.filter(({ expected }) => expected['error'] === 'invalid stamp'))(
    '$name',
    ({ input, expected }) => {
      expect(() => decodeStamp(fromHex(String(input['stamp'])))).toThrow(String(expected['error']));
    },
  );

  test('a field of another length is refused by name', () => {
    const stamp = decodeStamp(new Uint8Array(113));
    const wrong = new Uint8Array(3);
    expect(() => encodeStamp({ ...stamp, batchId: wrong })).toThrow('invalid batch ID');
    expect(() => encodeStamp({ ...stamp, index: wrong })).toThrow('invalid batch index');
    expect(() => encodeStamp({ ...stamp, timestamp: wrong })).toThrow('invalid batch timestamp');
    expect(() => encodeStamp({ ...stamp, signature: wrong })).toThrow('invalid batch signature');
  });
});
