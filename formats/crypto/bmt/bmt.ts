/** `data-formats.md` 1.3, the whole chunk in one WebAssembly call. Vectors: test/vectors/bmt.json. */
import assert from 'node:assert/strict';
import { hashChunk, INPUT, MEMORY, OUTPUT } from './wasm.ts';

const SPAN_SIZE = 8;
const PAYLOAD_SIZE_MAX = 4096;
const HASH_SIZE = 32;

/**
 * H(span ‖ root), the root of the tree over the payload, zero padded to 4096 bytes.
 * @param span 8 bytes @param payload 0..4096 bytes @returns 32 bytes
 */
export function bmtAddress(span: Uint8Array, payload: Uint8Array): Uint8Array {
  assert.equal(span.length, SPAN_SIZE);
  assert(payload.length <= PAYLOAD_SIZE_MAX);
  MEMORY.set(span, INPUT);
  MEMORY.set(payload, INPUT + SPAN_SIZE);
  hashChunk(payload.length);
  return MEMORY.slice(OUTPUT + HASH_SIZE, OUTPUT + 2 * HASH_SIZE);
}
