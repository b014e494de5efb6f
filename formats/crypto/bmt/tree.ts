/**
 * The tree hash node by node: proofs that a chunk contains a segment, and hashes keyed by a prefix. `data-formats.md` 1.4,
 * 1.5. Vectors: test/vectors/bmt.json, test/vectors/reserve-sample.json.
 */
import assert from 'node:assert/strict';
import { keccak256 } from '../keccak.ts';
import { ANCHOR, hashKeyed, INPUT, KEYED_ZEROS, MEMORY, OUTPUT } from './wasm.ts';

const SEGMENT_SIZE = 32;
const SEGMENTS = 128;
const LEVELS = 7;
const SPAN_SIZE = 8;
const ANCHOR_SIZE = 32;
const PAYLOAD_SIZE_MAX = SEGMENTS * SEGMENT_SIZE;
const NO_PREFIX: Uint8Array = new Uint8Array(0);

/** Hashing the segment with the sisters, lowest first, and then with the span in front gives the chunk's address. */
export interface SegmentProof {
  /** 32 bytes. */
  readonly segment: Uint8Array;
  /** Seven times 32 bytes. */
  readonly sisters: readonly Uint8Array[];
}

/** @param payload 0..4096 bytes @param index 0..127 @param prefix before the input of every hash @returns copies */
export function proveSegment(payload: Uint8Array, index: number, prefix = NO_PREFIX): SegmentProof {
  assert(index >= 0 && index < SEGMENTS);
  let level = segmentsOf(payload);
  let zero: Uint8Array = new Uint8Array(SEGMENT_SIZE);
  const segment = level[index] ?? zero;
  const sisters: Uint8Array[] = [];
  for (let depth = 0; depth < LEVELS; depth++) {
    sisters.push(level[(index >> depth) ^ 1] ?? zero);
    level = levelAbove(level, zero, prefix);
    zero = keccak256(prefix, zero, zero);
  }
  return { segment, sisters };
}

/** Addresses under one key, which a reserve sample calls transformed addresses. */
export interface KeyedHasher {
  /** H(key ‖ span ‖ keyed root). @param span 8 bytes @param payload 0..4096 bytes @returns 32 bytes */
  address(span: Uint8Array, payload: Uint8Array): Uint8Array;
}

/** @param key of any length, before the input of every hash */
export function createKeyedHasher(key: Uint8Array): KeyedHasher {
  const zeros: Uint8Array[] = [new Uint8Array(SEGMENT_SIZE)];
  for (let level = 0; level < LEVELS; level++) {
    const below = zeros[level]!;
    zeros.push(keccak256(key, below, below));
  }
  return key.length === ANCHOR_SIZE ? wholeChunks(key, zeros) : nodeByNode(key, zeros);
}

function wholeChunks(key: Uint8Array, zeros: readonly Uint8Array[]): KeyedHasher {
  const anchor = key.slice();
  const roots = Buffer.concat(zeros.slice(0, LEVELS));
  return {
    address(span, payload) {
      assert(payload.length <= PAYLOAD_SIZE_MAX);
      MEMORY.set(anchor, ANCHOR);
      MEMORY.set(roots, KEYED_ZEROS);
      MEMORY.set(span, INPUT);
      MEMORY.set(payload, INPUT + SPAN_SIZE);
      hashKeyed(payload.length);
      return MEMORY.slice(OUTPUT + SEGMENT_SIZE, OUTPUT + 2 * SEGMENT_SIZE);
    },
  };
}

function nodeByNode(key: Uint8Array, zeros: readonly Uint8Array[]): KeyedHasher {
  return {
    address(span, payload) {
      let level = segmentsOf(payload);
      for (let depth = 0; depth < LEVELS; depth++) level = levelAbove(level, zeros[depth]!, key);
      return keccak256(key, span, level[0] ?? zeros[LEVELS]!);
    },
  };
}

/** Up to the last one with payload bytes; zeros follow. */
function segmentsOf(payload: Uint8Array): Uint8Array[] {
  assert(payload.length <= PAYLOAD_SIZE_MAX);
  return Array.from({ length: Math.ceil(payload.length / SEGMENT_SIZE) }, (_, index) => {
    const segment = new Uint8Array(SEGMENT_SIZE);
    segment.set(payload.subarray(index * SEGMENT_SIZE, (index + 1) * SEGMENT_SIZE));
    return segment;
  });
}

function levelAbove(level: readonly Uint8Array[], zero: Uint8Array, prefix: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(level.length / 2) }, (_, index) =>
    keccak256(prefix, level[2 * index]!, level[2 * index + 1] ?? zero),
  );
}
