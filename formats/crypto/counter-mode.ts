/** `data-formats.md` 2.3: up to a chunk's payload in one WebAssembly call. Vectors: test/vectors/encryption.json. */
import assert from 'node:assert/strict';
import { INPUT, KEY, MEMORY, xorKeystream } from './bmt/wasm.ts';

/** Bytes of a key, and of the segment that one counter value encrypts. */
export const KEY_SIZE = 32;
/** A whole number of segments, and smaller than the module's input by more than it overwrites. */
const PIECE_SIZE = 4096;

/**
 * Encrypts and decrypts alike: segment `c` of 32 bytes is XORed with H(H(key ‖ LE4(counter + c))).
 * @param key 32 bytes @param bytes any length, not modified @param counter of the first segment, modulo 2^32
 */
export function transcrypt(key: Uint8Array, bytes: Uint8Array, counter = 0): Uint8Array {
  assert.equal(key.length, KEY_SIZE);
  const result = new Uint8Array(bytes.length);
  MEMORY.set(key, KEY);
  for (let at = 0; at < bytes.length; at += PIECE_SIZE) {
    const piece = bytes.subarray(at, at + PIECE_SIZE);
    MEMORY.set(piece, INPUT);
    xorKeystream(piece.length, counter + at / KEY_SIZE);
    result.set(MEMORY.subarray(INPUT, INPUT + piece.length), at);
  }
  return result;
}
