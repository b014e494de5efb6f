/** Reserve samples and their proofs, built from the specification. */
import { concat, keccak256, toBeHex, toUtf8Bytes } from 'ethers';
import vectors from '../../vectors/contracts.json' with { type: 'json' };

const SEGMENT = 32;
const SEGMENTS = 128;
const { sample } = vectors.redistributionScenario;

export type Element = (typeof sample)[number];

export interface Proof {
  proofSegments: string[];
  proveSegment: string;
  proofSegments2: string[];
  proveSegment2: string;
  chunkSpan: bigint;
  proofSegments3: string[];
  postageProof: { signature: string; postageId: string; index: bigint; timeStamp: bigint };
  socProof: { signer: string; signature: string; identifier: string; chunkAddr: string }[];
}

export const vectorSample: readonly Element[] = sample;

function commitmentPayload(elements: readonly Element[]): Uint8Array {
  return Buffer.from(concat(elements.flatMap((e) => [e.chunkAddress, e.transformedAddress])).slice(2), 'hex');
}

/** Address of the chunk that holds a sample. */
export function reserveCommitment(elements: readonly Element[]): string {
  const payload = commitmentPayload(elements);
  return chunkAddress(tree(payload), payload.length);
}

/** `x1`, `x2` and last, drawn by the seed. */
export function claimProofs(
  elements: readonly Element[],
  seed: string,
  anchor: string,
): [Proof, Proof, Proof] {
  const { x1, x2, segment } = drawn(seed);
  const proof = (index: number) => elementProof(elements, index, segment, anchor);
  return [proof(x1), proof(x2), proof(15)];
}

function drawn(seed: string): { x1: number; x2: number; segment: number } {
  const x1 = Number(BigInt(seed) % 15n);
  const other = Number(BigInt(seed) % 14n);
  return { x1, x2: other >= x1 ? other + 1 : other, segment: Number(BigInt(seed) % 128n) };
}

function elementProof(elements: readonly Element[], index: number, segment: number, anchor: string): Proof {
  const element = elements[index];
  if (element === undefined) throw new Error(`no element ${index}`);
  const { chunkAddress: address, stamp, soc } = element;
  const payload = toUtf8Bytes(element.payloadUtf8);
  const plain = tree(payload);
  const transformed = tree(payload, anchor);
  return {
    proofSegments: sisters(tree(commitmentPayload(elements)), 2 * index),
    proveSegment: address,
    proofSegments2: sisters(plain, segment),
    proveSegment2: plain[0]?.[segment] ?? '',
    chunkSpan: BigInt(payload.length),
    proofSegments3: sisters(transformed, segment),
    postageProof: {
      signature: stamp.signature,
      postageId: stamp.batchId,
      index: BigInt(stamp.index),
      timeStamp: BigInt(stamp.timestamp),
    },
    socProof: soc === null ? [] : [soc],
  };
}

/** All levels over 128 segments, the leaves first. @param anchor prefix of every hash input */
function tree(payload: Uint8Array, anchor = '0x'): string[][] {
  const padded = new Uint8Array(SEGMENTS * SEGMENT);
  padded.set(payload);
  let level = Array.from(
    { length: SEGMENTS },
    (_, i) => `0x${Buffer.from(padded.subarray(i * SEGMENT, (i + 1) * SEGMENT)).toString('hex')}`,
  );
  const levels = [level];
  while (level.length > 1) {
    const below = level;
    level = Array.from({ length: below.length / 2 }, (_, i) =>
      keccak256(concat([anchor, below[2 * i] ?? '', below[2 * i + 1] ?? ''])),
    );
    levels.push(level);
  }
  return levels;
}

function chunkAddress(levels: string[][], span: number): string {
  const littleEndian = `0x${Buffer.from(toBeHex(span, 8).slice(2), 'hex').reverse().toString('hex')}`;
  return keccak256(concat([littleEndian, levels.at(-1)?.[0] ?? '']));
}

function sisters(levels: string[][], index: number): string[] {
  return levels.slice(0, -1).map((level, depth) => level[(index >> depth) ^ 1] ?? '');
}
