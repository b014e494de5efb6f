/** One chunk of a file's tree: span, redundancy level, and children. `data-formats.md` 2.2, 2.3, 3.3 and 3.4. */

import { ADDRESS_SIZE, CHUNK_PAYLOAD_SIZE, type Chunk, SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { socParts } from '../../formats/chunk/soc.ts';
import { decodeSpan } from '../../formats/chunk/span.ts';
import { CodedError } from '../../formats/coded-error.ts';
import { decryptChunk, ENCRYPTED_CHUNK_SIZE } from './encryption.ts';
import {
  LEVEL_MAX,
  type RedundancyLevel,
  readLevel,
  referenceCounts,
  referenceSize,
  shardsMax,
  type TreeShape,
} from './redundancy/redundancy.ts';

/**
 * `REFERENCE_INVALID`: neither 32 nor 64 bytes. `MALFORMED_TREE`: spans, references and payloads do not fit, as with a wrong
 * key. `CHUNK_UNAVAILABLE`: could not be fetched (see the cause).
 */
export type JoinErrorCode = 'REFERENCE_INVALID' | 'MALFORMED_TREE' | 'CHUNK_UNAVAILABLE';

export class JoinError extends CodedError<JoinErrorCode> {}

/** Above the leaves. */
export const TREE_HEIGHT_MAX = 8;

const LEAF_SPAN = BigInt(CHUNK_PAYLOAD_SIZE);

export interface Reference {
  /** 32 bytes. */
  readonly address: Uint8Array;
  /** 32 bytes. */
  readonly key: Uint8Array | undefined;
}

export interface Content {
  readonly span: bigint;
  /** 0 without a level. */
  readonly level: RedundancyLevel;
  readonly payload: Uint8Array;
}

export interface Child extends Reference {
  readonly span: bigint;
}

/** @param bytes 32, or 64 with a key @throws JoinError `REFERENCE_INVALID` */
export function decodeReference(bytes: Uint8Array): Reference {
  if (bytes.length === ADDRESS_SIZE) return { address: bytes, key: undefined };
  if (bytes.length !== 2 * ADDRESS_SIZE)
    throw new JoinError('REFERENCE_INVALID', `reference of ${bytes.length} bytes`);
  return { address: bytes.subarray(0, ADDRESS_SIZE), key: bytes.subarray(ADDRESS_SIZE) };
}

/** Of a single-owner chunk: the wrapped one's. @throws JoinError `MALFORMED_TREE`, mostly for a wrong key */
export function contentOf(chunk: Chunk, key?: Uint8Array): Content {
  const data = chunk.kind === 'soc' ? socParts(chunk.data).wrapped : chunk.data;
  if (key === undefined) return { ...spanOf(data), payload: data.subarray(SPAN_SIZE) };
  if (data.length !== ENCRYPTED_CHUNK_SIZE) throw malformed(`encrypted chunk of ${data.length} bytes`);
  const plain = decryptChunk(data, key);
  const { span, level } = spanOf(plain);
  const shape: TreeShape = { level, encrypted: true };
  if (span > LEAF_SPAN * BigInt(shardsMax(shape)) ** BigInt(TREE_HEIGHT_MAX))
    throw malformed(`span ${span} is more than a tree holds: is it the right key?`);
  const size = span <= LEAF_SPAN ? Number(span) : payloadSize(span, shape);
  return { span, level, payload: plain.subarray(SPAN_SIZE, SPAN_SIZE + size) };
}

/** May exceed its span: recovered chunks are padded with zeros. */
export function isLeaf(content: Content): boolean {
  return content.span <= content.payload.length;
}

export interface Children {
  readonly data: readonly Child[];
  readonly parities: readonly Uint8Array[];
}

/**
 * Every data child but the last covers the same number of bytes. @param shape of the whole tree
 * @throws JoinError `MALFORMED_TREE`
 */
export function childrenOf(content: Content, shape: TreeShape): Children {
  const { span, payload } = content;
  const width = referenceSize(shape);
  const size = effectiveSize(payload);
  const isBare = shape.level === 0 && !shape.encrypted;
  if (!isBare && size !== payloadSize(span, shape))
    throw malformed(`${size} bytes of references over ${span}`);
  const count = isBare ? size / width : referenceCounts(span, shape).data;
  const branching = BigInt(shardsMax(shape));
  const others = BigInt(count - 1);
  let covered = LEAF_SPAN;
  while (span - covered * others > covered) covered *= branching;
  const last = span - covered * others;
  if (last <= 0n) throw malformed(`span ${span} over ${count} references`);
  return {
    data: slices(payload, { from: 0, count, width }).map((reference, i) => ({
      ...decodeReference(reference),
      span: i === count - 1 ? last : covered,
    })),
    parities: slices(payload, {
      from: count * width,
      count: (size - count * width) / ADDRESS_SIZE,
      width: ADDRESS_SIZE,
    }),
  };
}

function slices(
  bytes: Uint8Array,
  { from, count, width }: { from: number; count: number; width: number },
): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => bytes.subarray(from + i * width, from + (i + 1) * width));
}

export function isMalformed(error: unknown): boolean {
  return error instanceof JoinError && error.code === 'MALFORMED_TREE';
}

export function malformed(detail: string): JoinError {
  return new JoinError('MALFORMED_TREE', `malformed tree: ${detail}`);
}

function spanOf(data: Uint8Array): Pick<Content, 'span' | 'level'> {
  const { level, span } = readLevel(data);
  if (level > LEVEL_MAX) throw malformed(`redundancy level ${level}`);
  return { span: decodeSpan(span), level: level as RedundancyLevel };
}

function payloadSize(span: bigint, shape: TreeShape): number {
  const { data, parities } = referenceCounts(span, shape);
  return data * referenceSize(shape) + parities * ADDRESS_SIZE;
}

/** Size without the zero padding of copies. */
function effectiveSize(payload: Uint8Array): number {
  if (payload.length % ADDRESS_SIZE !== 0) throw malformed(`intermediate payload of ${payload.length} bytes`);
  let end = payload.length;
  while (end > 0 && payload[end - 1] === 0) end -= 1;
  if (end === 0) throw malformed('redundancy getter: intermediate chunk does not have at least a child');
  return Math.ceil(end / ADDRESS_SIZE) * ADDRESS_SIZE;
}
