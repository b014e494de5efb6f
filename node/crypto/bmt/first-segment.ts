/**
 * Addresses of a chunk of which only the first 32 bytes of payload change, as when one is mined: the hashes on the way
 * from that segment to the root are all there is to do, 8 instead of 128.
 */
import assert from 'node:assert/strict';
import { keccak256 } from '../keccak.ts';
import { finish, INPUT, MEMORY, OUTPUT } from './wasm.ts';

const SPAN_SIZE = 8;
const SEGMENT_SIZE = 32;
const PAYLOAD_SIZE = 4096;

/**
 * @param span 8 bytes @param payload 4096 bytes; the first 32 do not count
 * @returns a function from the first 32 bytes to the chunk's address; its result is good until the next hash of anything
 */
export function firstSegmentHasher(
  span: Uint8Array,
  payload: Uint8Array,
): (segment: Uint8Array) => Uint8Array {
  assert.equal(span.length, SPAN_SIZE);
  assert.equal(payload.length, PAYLOAD_SIZE);
  const siblings: Uint8Array[] = [];
  for (let size = SEGMENT_SIZE; size < PAYLOAD_SIZE; size *= 2)
    siblings.push(subtree(payload.subarray(size, 2 * size)));
  const result = MEMORY.subarray(OUTPUT, OUTPUT + SEGMENT_SIZE);
  return (segment) => {
    MEMORY.set(segment, INPUT);
    for (const sibling of siblings) {
      MEMORY.set(sibling, INPUT + SEGMENT_SIZE);
      finish(2 * SEGMENT_SIZE);
      MEMORY.copyWithin(INPUT, OUTPUT, OUTPUT + SEGMENT_SIZE);
    }
    MEMORY.copyWithin(INPUT + SPAN_SIZE, OUTPUT, OUTPUT + SEGMENT_SIZE);
    MEMORY.set(span, INPUT);
    finish(SPAN_SIZE + SEGMENT_SIZE);
    return result;
  };
}

/** @param bytes a power of two of segments */
function subtree(bytes: Uint8Array): Uint8Array {
  if (bytes.length === SEGMENT_SIZE) return bytes;
  const half = bytes.length / 2;
  return keccak256(subtree(bytes.subarray(0, half)), subtree(bytes.subarray(half)));
}
