/**
 * Small frames in WebAssembly, which avoids the call into OpenSSL; larger ones in OpenSSL, with one key object per
 * connection and direction.
 */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { ChaCha20Poly1305, newInstance } from '@chainsafe/as-chacha20poly1305';

const ALGORITHM = 'chacha20-poly1305';
const TAG_SIZE = 16;
const OPTIONS = { authTagLength: TAG_SIZE } as const;
/** Bytes; up to here WebAssembly is faster. */
const SMALL_MAX = 640;
const small = new ChaCha20Poly1305(newInstance());

/** One entry per direction of a connection, dropped with it. */
const keys = new WeakMap<Uint8Array, KeyObject>();

function keyObject(bytes: Uint8Array): KeyObject {
  const known = keys.get(bytes);
  if (known !== undefined) return known;
  const key = createSecretKey(bytes);
  keys.set(bytes, key);
  return key;
}

/** @returns ciphertext ‖ tag, in pieces: a copied packet would be garbage outside the heap, which triggers the collector */
export function encrypt(
  plaintext: Uint8Array,
  nonce: Uint8Array,
  associated: Uint8Array,
  key: Uint8Array,
): readonly Uint8Array[] {
  if (plaintext.length <= SMALL_MAX) return [small.seal(key, nonce, plaintext, associated)];
  const cipher = createCipheriv(ALGORITHM, keyObject(key), nonce, OPTIONS);
  cipher.setAAD(associated, { plaintextLength: plaintext.length });
  const text = cipher.update(plaintext);
  // A stream cipher holds nothing back: this only computes the tag.
  cipher.final();
  return [text, cipher.getAuthTag()];
}

/** @param ciphertext with its tag @throws Error when it was altered in transit */
export function decrypt(
  ciphertext: Uint8Array,
  nonce: Uint8Array,
  associated: Uint8Array,
  key: Uint8Array,
): Uint8Array {
  const length = ciphertext.length - TAG_SIZE;
  if (length <= SMALL_MAX) {
    const plaintext = small.open(key, nonce, ciphertext, associated);
    if (plaintext === null) throw new TypeError('the tag differs');
    return plaintext;
  }
  const decipher = createDecipheriv(ALGORITHM, keyObject(key), nonce, OPTIONS);
  decipher.setAAD(associated, { plaintextLength: length });
  decipher.setAuthTag(ciphertext.subarray(length));
  const text = decipher.update(ciphertext.subarray(0, length));
  decipher.final();
  return text;
}
