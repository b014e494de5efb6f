/**
 * A winner's proof: three elements of its sample, drawn by a later anchor, are what it committed to, and chunks that it has.
 * `data-formats.md` 1.5, 1.8, `contracts.md` 7.7. Vectors: test/vectors/reserve-sample.json.
 */
import { cacAddress } from '../../formats/chunk/cac.ts';
import { SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { socParts } from '../../formats/chunk/soc.ts';
import { decodeSpan } from '../../formats/chunk/span.ts';
import type { Stamp } from '../../formats/chunk/stamp.ts';
import { fromBigEndian } from '../../formats/crypto/big-endian.ts';
import { proveSegment } from '../../formats/crypto/bmt/tree.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { recoverSigner } from '../../formats/crypto/signer.ts';
import type { InclusionProof, InclusionProofs, SocProof } from '../onchain/incentive-contracts.ts';
import { IncentivesError } from './ports.ts';
import { commitmentContent, SAMPLE_SIZE, type SampleItem } from './sample.ts';

const SEGMENTS = 128n;
const LAST = SAMPLE_SIZE - 1;

interface Anchors {
  readonly anchor1: Uint8Array;
  readonly anchor2: Uint8Array;
}

/** @throws IncentivesError SAMPLE_TOO_SMALL */
export function inclusionProofs(items: readonly SampleItem[], anchors: Anchors): InclusionProofs {
  if (items.length !== SAMPLE_SIZE) {
    throw new IncentivesError(
      'SAMPLE_TOO_SMALL',
      `reserve sample items should have ${SAMPLE_SIZE} elements, there are ${items.length}`,
    );
  }
  const { first, second, segment } = drawn(anchors.anchor2);
  const content = commitmentContent(items);
  const prove = (element: number) =>
    proofOf(items[element]!, { element, segment, content, anchor: anchors.anchor1 });
  return [prove(first), prove(second), prove(LAST)];
}

function drawn(anchor: Uint8Array): { first: number; second: number; segment: number } {
  const number = fromBigEndian(anchor);
  const first = Number(number % BigInt(LAST));
  const other = Number(number % BigInt(LAST - 1));
  return { first, second: other >= first ? other + 1 : other, segment: Number(number % SEGMENTS) };
}

function proofOf(
  { chunk, stamp }: SampleItem,
  drawn: { element: number; segment: number; content: Uint8Array; anchor: Uint8Array },
): InclusionProof {
  const inCommitment = proveSegment(drawn.content, 2 * drawn.element);
  const plain = chunk.kind === 'cac' ? chunk.data : socParts(chunk.data).wrapped;
  const payload = plain.subarray(SPAN_SIZE);
  const inChunk = proveSegment(payload, drawn.segment);
  const transformed = proveSegment(payload, drawn.segment, drawn.anchor);
  return {
    proofSegments: inCommitment.sisters,
    proveSegment: inCommitment.segment,
    proofSegments2: inChunk.sisters,
    proveSegment2: inChunk.segment,
    chunkSpan: decodeSpan(plain),
    proofSegments3: transformed.sisters,
    postageProof: {
      signature: stamp.signature,
      postageId: stamp.batchId,
      index: number64(stamp, 'index'),
      timeStamp: number64(stamp, 'timestamp'),
    },
    socProof: chunk.kind === 'cac' ? [] : [socProofOf(chunk.data)],
  };
}

function socProofOf(data: Uint8Array): SocProof {
  const { id, signature, wrapped } = socParts(data);
  const chunkAddr = cacAddress(wrapped);
  return { signer: recoverSigner(keccak256(id, chunkAddr), signature), signature, identifier: id, chunkAddr };
}

function number64(stamp: Stamp, field: 'index' | 'timestamp'): bigint {
  return fromBigEndian(stamp[field]);
}
