/** A P-256 key, as in a Bee's key file and peer id (p2p-protocols.md 1.2). */
import { createECDH, createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { toBase58 } from '../../formats/crypto/base58.ts';
import { toHex } from '../../formats/crypto/hex.ts';

const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** A protobuf key up to its data: type ECDSA, 91 bytes. */
const KEY_PREFIX = Buffer.from('0803125b', 'hex');
/** A multihash up to its digest: SHA2-256, 32 bytes. */
const SHA256_PREFIX = Buffer.from('1220', 'hex');
const UNCOMPRESSED_SIZE = 65;

export interface P256Identity {
  /** SEC1 structure in DER: what the key file encrypts. */
  readonly secret: Uint8Array;
  readonly pem: string;
  /** Uncompressed public key, hex. */
  readonly address: string;
  readonly peerId: string;
}

/** @param seed 32 bytes, taken as the private key */
export function p256Identity(seed: Uint8Array): P256Identity {
  const scalar = validScalar(seed);
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(scalar);
  const point = ecdh.getPublicKey();
  const key = createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      d: base64url(scalar),
      x: base64url(point.subarray(1, 33)),
      y: base64url(point.subarray(33, UNCOMPRESSED_SIZE)),
    },
  });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  const digest = createHash('sha256').update(KEY_PREFIX).update(spki).digest();
  return {
    secret: new Uint8Array(key.export({ format: 'der', type: 'sec1' })),
    pem: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
    address: toHex(point),
    peerId: toBase58(Buffer.concat([SHA256_PREFIX, digest])),
  };
}

/** One seed in 2^32 is no valid key; it is hashed until it is. */
export function validScalar(seed: Uint8Array): Uint8Array {
  let candidate = seed;
  for (;;) {
    const value = BigInt(`0x${toHex(candidate)}`);
    if (value > 0n && value < P256_ORDER) return candidate;
    candidate = createHash('sha256').update(candidate).digest();
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
