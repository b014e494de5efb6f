import { fc, test as property } from '@fast-check/vitest';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { keccak256 } from 'ethers';
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { createKeyedHasher } from '../../../formats/crypto/bmt/tree.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { inclusionProofs } from '../../../node/incentives/proofs.ts';
import { commitmentHash, type SampleItem, transformedAddress } from '../../../node/incentives/sample.ts';
import {
  encodeClaim,
  type InclusionProof,
  type InclusionProofs,
} from '../../../node/onchain/incentive-contracts.ts';
import contracts from '../../vectors/contracts.json' with { type: 'json' };
import vectors from '../../vectors/reserve-sample.json' with { type: 'json' };
import { chunkOf, stampFor } from './chunks.ts';
import { vectorItems } from './vector.ts';

const { input, expected } = vectors.cases[0]!;

function sorted(items: readonly Omit<SampleItem, 'transformed'>[], anchor: Uint8Array): SampleItem[] {
  const hasher = createKeyedHasher(anchor);
  return items
    .map((item) => ({ ...item, transformed: transformedAddress(item.chunk, hasher) }))
    .sort((a, b) => Buffer.compare(a.transformed, b.transformed));
}

function written(proof: InclusionProof): unknown {
  const hex = (bytes: Uint8Array) => `0x${toHex(bytes)}`;
  const { postageProof, socProof } = proof;
  return {
    proofSegments: proof.proofSegments.map(hex),
    proveSegment: hex(proof.proveSegment),
    proofSegments2: proof.proofSegments2.map(hex),
    proveSegment2: hex(proof.proveSegment2),
    chunkSpan: Number(proof.chunkSpan),
    proofSegments3: proof.proofSegments3.map(hex),
    postageProof: {
      signature: Buffer.from(postageProof.signature).toString('base64'),
      postageId: hex(postageProof.postageId),
      index: Number(postageProof.index),
      timeStamp: Number(postageProof.timeStamp),
    },
    socProof: socProof.map(({ signer, signature, identifier, chunkAddr }) => ({
      signer: hex(signer),
      signature: Buffer.from(signature).toString('base64'),
      identifier: hex(identifier),
      chunkAddr: hex(chunkAddr),
    })),
  };
}

test('the proofs of the vectors', () => {
  const [anchor1, anchor2] = [fromHex(input.anchor1), fromHex(input.anchor2)];
  const [proof1, proof2, proofLast] = inclusionProofs(sorted(vectorItems(), anchor1), { anchor1, anchor2 });
  expect({ proof1: written(proof1), proof2: written(proof2), proofLast: written(proofLast) }).toEqual(
    expected.proofs,
  );
});

test('the claim that the contract accepts in its own tests, with chunks of both kinds', () => {
  const { sample, anchor1, seed, claimCalldataKeccak256, reserveCommitment } =
    contracts.redistributionScenario;
  const word = (value: string | number, size: number) =>
    fromHex(
      BigInt(value)
        .toString(16)
        .padStart(2 * size, '0'),
    );
  const items = sample.map(({ chunkAddress, transformedAddress, payloadUtf8, stamp, soc }): SampleItem => {
    const payload = new TextEncoder().encode(payloadUtf8);
    const plain = makeCac(BigInt(payload.length), payload);
    const data =
      soc === null
        ? plain.data
        : Buffer.concat([fromHex(soc.identifier), fromHex(soc.signature), plain.data]);
    return {
      chunk: chunkFrom(fromHex(chunkAddress), new Uint8Array(data)),
      transformed: fromHex(transformedAddress),
      stamp: {
        batchId: fromHex(stamp.batchId),
        index: word(stamp.index, 8),
        timestamp: word(stamp.timestamp, 8),
        signature: fromHex(stamp.signature),
      },
    };
  });
  const anchors = { anchor1: fromHex(anchor1), anchor2: fromHex(seed) };
  expect(new Set(items.map(({ chunk }) => chunk.kind))).toEqual(new Set(['cac', 'soc']));
  expect(sorted(items, anchors.anchor1)).toEqual(items);
  expect(`0x${toHex(commitmentHash(items))}`).toBe(reserveCommitment);
  expect(keccak256(encodeClaim(inclusionProofs(items, anchors)))).toBe(claimCalldataKeccak256);
});

test.each([0, 1, 15, 17])('a sample of %i elements cannot be proven', (count) => {
  const items = Array.from({ length: count }, (_, n) => chunkOf(`${n}`)).map((chunk) => ({
    chunk,
    stamp: stampFor(chunk),
  }));
  const anchor1 = new Uint8Array(32);
  expect(() => inclusionProofs(sorted(items, anchor1), { anchor1, anchor2: anchor1 })).toThrow(
    expect.objectContaining({ code: 'SAMPLE_TOO_SMALL' }),
  );
});

describe('a verifier of any proofs', () => {
  const hash = (...parts: Uint8Array[]) => keccak_256(Buffer.concat(parts));
  const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });

  function climb(
    start: Uint8Array,
    sisters: readonly Uint8Array[],
    { index, span, prefix = new Uint8Array() }: { index: number; span: bigint; prefix?: Uint8Array },
  ): string {
    const spanBytes = Buffer.alloc(8);
    spanBytes.writeBigUInt64LE(span);
    const root = sisters.reduce(
      (node, sister, depth) =>
        (index >> depth) & 1 ? hash(prefix, sister, node) : hash(prefix, node, sister),
      start,
    );
    return toHex(hash(prefix, spanBytes, root));
  }

  /** `contracts.md` 7.7, step 4, as far as it needs no chain. */
  function check(
    proofs: InclusionProofs,
    hashOfSample: Uint8Array,
    anchor1: Uint8Array,
    anchor2: Uint8Array,
  ): void {
    const number = BigInt(`0x${toHex(anchor2)}`);
    const x1 = Number(number % 15n);
    const x2 = Number(number % 14n) + (Number(number % 14n) >= x1 ? 1 : 0);
    const segment = Number(number % 128n);
    for (const [n, element] of [x1, x2, 15].entries()) {
      const proof = proofs[n]!;
      const commitment = { index: 2 * element, span: 1024n };
      expect(climb(proof.proveSegment, proof.proofSegments, commitment)).toBe(toHex(hashOfSample));
      const place = { index: segment, span: proof.chunkSpan };
      const address = climb(proof.proveSegment2, proof.proofSegments2, place);
      const transformed = climb(proof.proveSegment2, proof.proofSegments3, { ...place, prefix: anchor1 });
      const [soc] = proof.socProof;
      expect(address).toBe(toHex(soc?.chunkAddr ?? proof.proveSegment));
      expect(toHex(proof.proofSegments[0]!)).toBe(
        soc === undefined ? transformed : toHex(hash(proof.proveSegment, fromHex(transformed))),
      );
      if (soc !== undefined) expect(toHex(hash(soc.identifier, soc.signer))).toBe(toHex(proof.proveSegment));
    }
    const order = [...proofs].map((proof) => toHex(proof.proofSegments[0]!));
    if (x1 > x2) order.splice(0, 2, order[1]!, order[0]!);
    expect(order).toEqual([...order].sort());
  }

  property.prop([bytes32, bytes32, fc.nat(1000)], { numRuns: 20 })(
    'finds the elements that were drawn',
    (anchor1, anchor2, salt) => {
      const items = Array.from({ length: 16 }, (_, n) => {
        const chunk = chunkOf(`${salt} ${n}`.repeat((salt * n) % 400), n % 3 === 0 ? 'soc' : 'cac');
        return { chunk, stamp: stampFor(chunk) };
      });
      const sample = sorted(items, anchor1);
      check(inclusionProofs(sample, { anchor1, anchor2 }), commitmentHash(sample), anchor1, anchor2);
    },
  );
});
