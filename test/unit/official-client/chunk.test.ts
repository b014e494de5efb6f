import { Bee, MerkleTree } from '@ethersphere/bee-js';
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { parseSoc, signSoc } from '../../../formats/chunk/soc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { split } from '../../../node/files/splitter.ts';
import { ChunkMap, inParts } from '../files/chunk-map.ts';
import { ids, privateKeys, UNREACHABLE } from './kit.ts';

/** The client signs in plain JavaScript: tenths of a second each on a busy machine. */
const SIGNED_RUNS = 3;

const client = new Bee(UNREACHABLE);

function content(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i % 251);
}

describe('a content-addressed chunk has the same address and bytes', () => {
  const same = (payload: Uint8Array, span: bigint) => {
    const ours = makeCac(span, payload);
    const theirs = client.makeContentAddressedChunk(payload, span);
    expect(toHex(ours.address)).toBe(theirs.address.toHex());
    expect(toHex(ours.data)).toBe(toHex(theirs.data));
    expect(client.unmarshalContentAddressedChunk(ours.data).address.toHex()).toBe(toHex(ours.address));
  };

  test.each([1, 31, 32, 33, 63, 64, 65, 2048, 4064, 4095, 4096])('with a payload of %i bytes', (length) => {
    same(content(length), BigInt(length));
  });

  test('with any payload and any span', () => {
    const payloads = fc.uint8Array({ minLength: 1, maxLength: 4096, size: 'max' });
    fc.assert(fc.property(payloads, fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), same), { numRuns: 40 });
  });
});

test.each([0, 1, 4096, 4097, 8192, 128 * 4096, 128 * 4096 + 1])(
  'a file of %i bytes has the same reference',
  async (length) => {
    const data = content(length);
    const { reference } = await split(inParts(data, 5000), new ChunkMap());
    expect(toHex(reference)).toBe(toHex((await MerkleTree.root(data)).hash()));
  },
);

describe('a single-owner chunk', () => {
  const payloads = fc.uint8Array({ minLength: 1, maxLength: 4096 });

  property.prop([privateKeys, ids, payloads], { numRuns: SIGNED_RUNS })(
    'of ours is read and verified by the client',
    (key, id, payload) => {
      const owner = createSigner(key);
      const { address, data } = signSoc(id, makeCac(BigInt(payload.length), payload).data, owner);
      const read = client.unmarshalSingleOwnerChunk(data, address);
      expect(read.owner.toHex()).toBe(toHex(owner.address));
      expect(read.identifier.toHex()).toBe(toHex(id));
      expect(read.payload.toHex()).toBe(toHex(payload));
      expect(read.span.toBigInt()).toBe(BigInt(payload.length));
    },
  );

  property.prop([privateKeys, ids, payloads], { numRuns: SIGNED_RUNS })(
    'of the client is valid here, at the same address',
    (key, id, payload) => {
      const theirs = client.makeContentAddressedChunk(payload).toSingleOwnerChunk(id, key);
      const { address } = signSoc(id, makeCac(BigInt(payload.length), payload).data, createSigner(key));
      expect(theirs.address.toHex()).toBe(toHex(address));
      expect(parseSoc(address, theirs.data)?.kind).toBe('soc');
    },
  );

  test('with a changed byte of id or payload is refused by both', () => {
    const chunk = signSoc(content(32), makeCac(3n, content(3)).data, createSigner(content(33).subarray(1)));
    for (const at of [0, chunk.data.length - 1]) {
      const data = Uint8Array.from(chunk.data);
      data[at]! ^= 1;
      expect(parseSoc(chunk.address, data)).toBeUndefined();
      expect(() => client.unmarshalSingleOwnerChunk(data, chunk.address)).toThrow();
    }
  });
});
