/**
 * Encrypted chunks: each has its own key, and all have the same size, which hides the length. `data-formats.md` 2.3.
 * Vectors: test/vectors/encryption.json
 */
import assert from 'node:assert/strict';
import { CHUNK_PAYLOAD_SIZE, SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { KEY_SIZE, transcrypt } from '../../formats/crypto/counter-mode.ts';
import type { Random } from '../../formats/random.ts';

/** The span follows the longest payload's segments. */
const SPAN_COUNTER = CHUNK_PAYLOAD_SIZE / KEY_SIZE;
export const ENCRYPTED_CHUNK_SIZE = SPAN_SIZE + CHUNK_PAYLOAD_SIZE;
/** Drawn at once: a call costs more than the bytes. */
const KEYS_DRAWN = 64;

/** The source of randomness for encrypted content. */
export interface Encryption {
  /**
   * @param plain span and payload of the chunk
   * @returns its key, 32 bytes, and the `paddingSize` bytes that follow the encrypted payload
   */
  readonly secret: (
    plain: Uint8Array,
    paddingSize: number,
  ) => { readonly key: Uint8Array; readonly padding: Uint8Array };
  /** Obfuscation key of a manifest's node, 32 bytes. */
  readonly obfuscationKey: () => Uint8Array;
}

/** A random key per chunk. @returns encryption for `split` */
export function randomEncryption(random: Random): Encryption {
  let drawn: Uint8Array = new Uint8Array(0);
  const nextKey = (): Uint8Array => {
    if (drawn.length === 0) drawn = random.bytes(KEYS_DRAWN * KEY_SIZE);
    const key = drawn.slice(0, KEY_SIZE);
    drawn = drawn.subarray(KEY_SIZE);
    return key;
  };
  return {
    secret: (_plain, paddingSize) => ({ key: nextKey(), padding: random.bytes(paddingSize) }),
    obfuscationKey: nextKey,
  };
}

/** @param plain span and up to 4096 bytes @returns 4104 bytes, and their key */
export function encryptChunk(
  plain: Uint8Array,
  encryption: Encryption,
): { readonly data: Uint8Array; readonly key: Uint8Array } {
  const size = plain.length - SPAN_SIZE;
  const room = CHUNK_PAYLOAD_SIZE - size;
  assert(room >= 0, `data length longer than padding, data length ${size} padding ${CHUNK_PAYLOAD_SIZE}`);
  const { key, padding } = encryption.secret(plain, room);
  const data = transcryptChunk(plain, key, ENCRYPTED_CHUNK_SIZE);
  data.set(padding, plain.length);
  return { data, key };
}

/**
 * Span and 4096 bytes; the span says how many are content. @param data 4104 bytes @param key 32 bytes; a wrong one gives
 * other bytes, no error
 */
export function decryptChunk(data: Uint8Array, key: Uint8Array): Uint8Array {
  return transcryptChunk(data, key, data.length);
}

function transcryptChunk(data: Uint8Array, key: Uint8Array, size: number): Uint8Array {
  const result = new Uint8Array(size);
  result.set(transcrypt(key, data.subarray(0, SPAN_SIZE), SPAN_COUNTER));
  result.set(transcrypt(key, data.subarray(SPAN_SIZE)), SPAN_SIZE);
  return result;
}
