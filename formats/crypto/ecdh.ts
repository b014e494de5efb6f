/** Key agreement on secp256k1, `data-formats.md` 9.2. Vectors: test/vectors/messaging.json, test/vectors/act.json. */
import secp256k1 from 'secp256k1';
import type { Random } from '../random.ts';
import { SignatureError } from './signer.ts';

const KEY_SIZE = 32;

/**
 * x of the product, big-endian, without its leading zero bytes.
 * @param privateKey 32 bytes @param publicKey SEC1, 33 or 65 bytes @returns 32 bytes, one time in 256 fewer
 * @throws SignatureError `PUBLIC_KEY_INVALID` for a point that is not on the curve
 */
export function sharedSecret(privateKey: Uint8Array, publicKey: Uint8Array): Uint8Array {
  try {
    const x = secp256k1.publicKeyTweakMul(publicKey, privateKey, true).subarray(1);
    return x.subarray(x.findIndex((byte) => byte !== 0));
  } catch (cause) {
    throw new SignatureError('PUBLIC_KEY_INVALID', 'not a secp256k1 public key', { cause });
  }
}

/** @param privateKey 32 bytes @returns compressed, 33 bytes @throws SignatureError `PRIVATE_KEY_INVALID` */
export function publicKeyOf(privateKey: Uint8Array): Uint8Array {
  try {
    return secp256k1.publicKeyCreate(privateKey, true);
  } catch (cause) {
    throw new SignatureError('PRIVATE_KEY_INVALID', 'not a secp256k1 private key', { cause });
  }
}

export function ephemeralKey(random: Random): Uint8Array {
  for (;;) {
    const key = random.bytes(KEY_SIZE);
    // Zero and what is not below the group order: a chance of 2^-127.
    if (secp256k1.privateKeyVerify(key)) return key;
  }
}
