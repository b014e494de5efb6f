/**
 * Encryption of noise frames. The noise library's own takes the key as bytes, from which Node.js makes a key object
 * for every frame and an exception with a stack on the way: 20 µs, whatever the size. With a key object made once it
 * is 5 µs. Frames below a packet's size stay the library's.
 */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { defaultCrypto } from '@chainsafe/libp2p-noise/crypto';

const ALGORITHM = 'chacha20-poly1305';
const TAG_SIZE = 16;
const OPTIONS = { authTagLength: TAG_SIZE } as const;
/** Bytes; up to here the library's WebAssembly is faster than a call into OpenSSL. */
const SMALL_MAX = 640;

type Crypto = typeof defaultCrypto;
type Encrypt = Crypto['chaCha20Poly1305Encrypt'];
type Decrypt = Crypto['chaCha20Poly1305Decrypt'];

/** One entry per direction of a connection, gone with it. */
const keys = new WeakMap<Uint8Array, KeyObject>();

function keyObject(bytes: Uint8Array): KeyObject {
  const known = keys.get(bytes);
  if (known !== undefined) return known;
  const key = createSecretKey(bytes);
  keys.set(bytes, key);
  return key;
}

const encrypt: Encrypt = (plaintext, nonce, associated, key) => {
  if (plaintext.byteLength <= SMALL_MAX)
    return defaultCrypto.chaCha20Poly1305Encrypt(plaintext, nonce, associated, key);
  const cipher = createCipheriv(ALGORITHM, keyObject(key), nonce, OPTIONS);
  cipher.setAAD(associated, { plaintextLength: plaintext.byteLength });
  const text = cipher.update(plaintext.subarray());
  // A stream cipher holds nothing back: this only makes the tag.
  cipher.final();
  return Buffer.concat([text, cipher.getAuthTag()], text.length + TAG_SIZE);
};

const decrypt: Decrypt = (ciphertext, nonce, associated, key, target) => {
  const length = ciphertext.byteLength - TAG_SIZE;
  if (length <= SMALL_MAX)
    return defaultCrypto.chaCha20Poly1305Decrypt(ciphertext, nonce, associated, key, target);
  const bytes = ciphertext.subarray();
  const decipher = createDecipheriv(ALGORITHM, keyObject(key), nonce, OPTIONS);
  decipher.setAAD(associated, { plaintextLength: length });
  decipher.setAuthTag(bytes.subarray(length));
  const text = decipher.update(bytes.subarray(0, length));
  // Throws when the frame was changed on its way.
  decipher.final();
  return text;
};

export const noiseCrypto = {
  chaCha20Poly1305Encrypt: encrypt,
  chaCha20Poly1305Decrypt: decrypt,
};
