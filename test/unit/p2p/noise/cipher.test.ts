import { randomBytes } from 'node:crypto';
import { defaultCrypto } from '@chainsafe/libp2p-noise/crypto';
import { expect, test } from 'vitest';
import { decrypt, encrypt } from '../../../../node/p2p/noise/cipher.ts';

const NOTHING = new Uint8Array(0);
const SIZES = [0, 1, 100, 640, 641, 1199, 1200, 4300, 65_519];
const key = new Uint8Array(randomBytes(32));
const nonce = new Uint8Array(randomBytes(12));

test.each(SIZES)(
  'a frame of %i bytes is encrypted as the library does it, and the library decrypts it',
  (size) => {
    const plaintext = new Uint8Array(randomBytes(size));
    const ours = Buffer.concat(encrypt(plaintext, nonce, NOTHING, key));
    const theirs = defaultCrypto.chaCha20Poly1305Encrypt(plaintext, nonce, NOTHING, key).subarray();
    expect(Buffer.compare(ours, theirs)).toBe(0);
    const back = decrypt(theirs.slice(), nonce, NOTHING, key);
    expect(Buffer.compare(back, plaintext)).toBe(0);
  },
);

test.each(SIZES)('a changed frame of %i bytes is refused', (size) => {
  const frame = new Uint8Array(Buffer.concat(encrypt(new Uint8Array(size), nonce, NOTHING, key)));
  for (const at of [0, frame.length - 1]) {
    const changed = frame.slice();
    changed[at]! ^= 1;
    expect(() => decrypt(changed, nonce, NOTHING, key)).toThrow();
  }
});

test('frames of two connections do not share a key', () => {
  const other = new Uint8Array(randomBytes(32));
  const plaintext = new Uint8Array(2000);
  const frame = Buffer.concat(encrypt(plaintext, nonce, NOTHING, key));
  expect(() => decrypt(frame, nonce, NOTHING, other)).toThrow();
});
