/**
 * Chunks that differ only in their first and last segments, as when one is mined. The half of the tree above either end is
 * hashed once for each segment there; two more hashes make an address from any pair of halves, instead of 128.
 */
import assert from 'node:assert/strict';
import { keccak256 } from '../keccak.ts';
import { climb, combine, INPUT, MEMORY, PREFIXES, SEGMENTS, SIBLINGS } from './wasm.ts';

const SPAN_SIZE = 8;
const SEGMENT_SIZE = 32;
const PAYLOAD_SIZE = 4096;
const HALF = PAYLOAD_SIZE / 2;
export const FIRSTS_MAX = 256;

export interface Ends {
  /** @param segments 32 bytes each, 1 to `FIRSTS_MAX` of them, to be combined with any last segment */
  begin(segments: Uint8Array): void;
  /**
   * @param segment 32 bytes
   * @returns the first four bytes of its address with each of the first segments, as numbers; valid until the next hash
   */
  end(segment: Uint8Array): Uint32Array;
}

/** @param span 8 bytes @param payload 4096 bytes; the first and the last 32 do not count */
export function createEnds(span: Uint8Array, payload: Uint8Array): Ends {
  assert.equal(span.length, SPAN_SIZE);
  assert.equal(payload.length, PAYLOAD_SIZE);
  const afterFirst: Uint8Array[] = [];
  const beforeLast: Uint8Array[] = [];
  for (let size = SEGMENT_SIZE; size < HALF; size *= 2) {
    afterFirst.push(subtree(payload.subarray(size, 2 * size)));
    beforeLast.push(subtree(payload.subarray(PAYLOAD_SIZE - 2 * size, PAYLOAD_SIZE - size)));
  }
  const [onTheLeft, onTheRight] = [Buffer.concat(afterFirst), Buffer.concat(beforeLast)];
  let lefts = new Uint8Array(0);

  return {
    begin(segments) {
      const count = segments.length / SEGMENT_SIZE;
      assert(Number.isInteger(count) && count > 0 && count <= FIRSTS_MAX);
      MEMORY.set(onTheLeft, SIBLINGS);
      MEMORY.set(segments, SEGMENTS);
      climb(count, false);
      lefts = MEMORY.slice(SEGMENTS, SEGMENTS + segments.length);
    },
    end(segment) {
      assert.equal(segment.length, SEGMENT_SIZE);
      MEMORY.set(onTheRight, SIBLINGS);
      MEMORY.set(segment, SEGMENTS);
      climb(1, true);
      MEMORY.copyWithin(INPUT, SEGMENTS, SEGMENTS + SEGMENT_SIZE);
      MEMORY.set(span, INPUT + SEGMENT_SIZE);
      MEMORY.set(lefts, SEGMENTS);
      const count = lefts.length / SEGMENT_SIZE;
      combine(count);
      return new Uint32Array(MEMORY.buffer, PREFIXES, count);
    },
  };
}

function subtree(bytes: Uint8Array): Uint8Array {
  if (bytes.length === SEGMENT_SIZE) return bytes;
  const half = bytes.length / 2;
  return keccak256(subtree(bytes.subarray(0, half)), subtree(bytes.subarray(half)));
}
