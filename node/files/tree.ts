/**
 * What one chunk of a file's tree says: its span, its redundancy level and, for an intermediate chunk, where its
 * children are and how many bytes each of them covers. Specification: data formats 2.2, 3.3 and 3.4.
 */
import { ADDRESS_SIZE, CHUNK_PAYLOAD_SIZE, type Chunk, SPAN_SIZE } from '../chunk/chunk.ts';
import { socParts } from '../chunk/soc.ts';
import { decodeSpan } from '../chunk/span.ts';

/**
 * `REFERENCE_INVALID`: the reference has not 32 bytes. `MALFORMED_TREE`: spans, references and payloads do not fit
 * together. `CHUNK_UNAVAILABLE`: a chunk below the root could not be fetched (the cause says why).
 */
export type JoinErrorCode = 'REFERENCE_INVALID' | 'MALFORMED_TREE' | 'CHUNK_UNAVAILABLE';

export class JoinError extends Error {
  readonly code: JoinErrorCode;

  constructor(code: JoinErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JoinError';
    this.code = code;
  }
}

/** Levels of intermediate chunks that a tree may have above its leaves. */
export const TREE_HEIGHT_MAX = 8;

/** Byte 7 of a span above this value carries a redundancy level in its lower bits. */
const LEVEL_MARK = 0x80;
const LEVEL_BYTE = 7;
/** Data references of a full intermediate chunk by redundancy level; the rest of its 128 are parities. */
const DATA_REFERENCES_MAX = [128n, 119n, 107n, 97n, 39n] as const;
const LEAF_SPAN = BigInt(CHUNK_PAYLOAD_SIZE);

export interface Content {
  /** Bytes of the file under this chunk. */
  readonly span: bigint;
  /** Redundancy level named in the span, 0 when none is. */
  readonly level: number;
  readonly payload: Uint8Array;
}

/** A child as its parent describes it. */
export interface Child {
  readonly address: Uint8Array;
  readonly span: bigint;
}

/** Of a single-owner chunk: the wrapped chunk's. */
export function contentOf(chunk: Chunk): Content {
  const data = chunk.kind === 'soc' ? socParts(chunk.data).wrapped : chunk.data;
  const payload = data.subarray(SPAN_SIZE);
  const mark = data[LEVEL_BYTE] as number;
  if (mark <= LEVEL_MARK) return { span: decodeSpan(data), level: 0, payload };
  const span = new Uint8Array(data.subarray(0, SPAN_SIZE));
  span[LEVEL_BYTE] = 0;
  return { span: decodeSpan(span), level: mark - LEVEL_MARK, payload };
}

/** A leaf may be longer than its span: recovered chunks come padded with zeros. */
export function isLeaf(content: Content): boolean {
  return content.span <= content.payload.length;
}

/**
 * Data references of an intermediate chunk in order. Every child but the last covers the same number of bytes.
 * @param level redundancy level of the whole tree, from its root
 * @throws JoinError `MALFORMED_TREE`
 */
export function childrenOf(content: Content, level: number): Child[] {
  const branching = DATA_REFERENCES_MAX[level];
  if (branching === undefined) throw malformed(`redundancy level ${level}`);
  const stored = referencesIn(content.payload);
  const count = level === 0 ? stored : dataReferences(content.span, branching);
  if (count > stored) throw malformed(`${stored} references where the span needs ${count}`);
  const others = BigInt(count - 1);
  let covered = LEAF_SPAN;
  while (content.span - covered * others > covered) covered *= branching;
  const last = content.span - covered * others;
  if (last <= 0n) throw malformed(`span ${content.span} over ${count} references`);
  return Array.from({ length: count }, (_, i) => ({
    address: content.payload.subarray(i * ADDRESS_SIZE, (i + 1) * ADDRESS_SIZE),
    span: i === count - 1 ? last : covered,
  }));
}

export function malformed(detail: string): JoinError {
  return new JoinError('MALFORMED_TREE', `malformed tree: ${detail}`);
}

/** References before the zero padding that copies of a chunk may have. */
function referencesIn(payload: Uint8Array): number {
  if (payload.length % ADDRESS_SIZE !== 0) throw malformed(`intermediate payload of ${payload.length} bytes`);
  let end = payload.length;
  while (end > 0 && payload[end - 1] === 0) end -= 1;
  if (end === 0) throw malformed('redundancy getter: intermediate chunk does not have at least a child');
  return Math.ceil(end / ADDRESS_SIZE);
}

/** Data references of an intermediate chunk that also carries parities, by its span alone. */
function dataReferences(span: bigint, branching: bigint): number {
  let covered = LEAF_SPAN;
  while (covered * branching < span) covered *= branching;
  return Number((span + covered - 1n) / covered);
}
