/** libp2p identities (`p2p-protocols.md` 1.2). Our own are Ed25519; P-256, secp256k1 and RSA can be read too. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { toBase58 } from '../../../formats/crypto/base58.ts';
import { decodeMessage, encodeMessage } from '../codec/codec.ts';
import { publicKeyOf } from './public-key.ts';

const PublicKey = { type: [1, 'uint32'], data: [2, 'bytes'] } as const;

const KEY_TYPE = { rsa: 0, ed25519: 1, secp256k1: 2, ecdsa: 3 } as const;
const ED25519_SIZE = 32;
const SECP256K1_SIZE = 33;
/** Bits: larger keys are slow to verify. */
const RSA_MIN = 2048;
const RSA_MAX = 8192;
/** Longer keys are hashed, others embedded in the peer id. */
const INLINE_KEY_MAX = 42;
const MULTIHASH = { identity: 0x00, sha256: 0x12 } as const;

/** DER before the raw bytes of a key. */
const DER = {
  ed25519Seed: Buffer.from('302e020100300506032b657004220420', 'hex'),
  ed25519: Buffer.from('302a300506032b6570032100', 'hex'),
  secp256k1: Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex'),
} as const;

export class IdentityError extends Error {
  readonly code = 'IDENTITY_INVALID';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IdentityError';
  }
}

export interface IdentityKey {
  readonly peerId: string;
  verifies(message: Uint8Array, signature: Uint8Array): boolean;
}

export interface OwnIdentity {
  readonly peerId: string;
  /** Protobuf; ends in the key's 32 bytes. */
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array;
}

/** @param seed 32 bytes */
export function ownIdentity(seed: Uint8Array): OwnIdentity {
  const der = Buffer.concat([DER.ed25519Seed, seed]);
  const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  const publicKey = ed25519Protobuf(spki.subarray(DER.ed25519.length));
  return {
    peerId: peerIdOfKey(publicKey),
    publicKey,
    sign: (message) => new Uint8Array(sign(undefined, message, secret)),
  };
}

/** @param raw 32 bytes */
export function ed25519Protobuf(raw: Uint8Array): Uint8Array {
  return encodeMessage(PublicKey, { type: KEY_TYPE.ed25519, data: raw });
}

/** @param protobuf of a public key */
export function peerIdOfKey(protobuf: Uint8Array): string {
  if (protobuf.length <= INLINE_KEY_MAX) {
    return toBase58(Uint8Array.of(MULTIHASH.identity, protobuf.length, ...protobuf));
  }
  const digest = createHash('sha256').update(protobuf).digest();
  return toBase58(Uint8Array.of(MULTIHASH.sha256, digest.length, ...digest));
}

/**
 * @param protobuf as sent; its hash is the peer id, so it is not re-encoded
 * @throws IdentityError
 */
export function identityKeyOf(protobuf: Uint8Array): IdentityKey {
  try {
    const { type, data } = decodeMessage(PublicKey, protobuf);
    const verifies = verifierOf(type, Buffer.from(data));
    return { peerId: peerIdOfKey(protobuf), verifies };
  } catch (cause) {
    if (cause instanceof IdentityError) throw cause;
    throw new IdentityError('the identity is no public key', { cause });
  }
}

function verifierOf(type: number, data: Buffer): IdentityKey['verifies'] {
  switch (type) {
    case KEY_TYPE.ed25519: {
      const key = publicKeyOf(Buffer.concat([DER.ed25519, ofSize(data, ED25519_SIZE)]));
      return (message, signature) => verify(undefined, message, key, signature);
    }
    case KEY_TYPE.secp256k1:
      return ecdsaVerifier(publicKeyOf(Buffer.concat([DER.secp256k1, ofSize(data, SECP256K1_SIZE)])));
    case KEY_TYPE.ecdsa: {
      const key = publicKeyOf(data);
      if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
        throw new IdentityError('the identity is on another curve than P-256');
      }
      return ecdsaVerifier(key);
    }
    case KEY_TYPE.rsa: {
      const key = publicKeyOf(data);
      const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
      if (key.asymmetricKeyType !== 'rsa' || bits < RSA_MIN || bits > RSA_MAX) {
        throw new IdentityError(`the identity is no RSA key of ${RSA_MIN} to ${RSA_MAX} bits`);
      }
      return (message, signature) => verify('sha256', message, key, signature);
    }
    default:
      throw new IdentityError(`the identity is a key of type ${type}`);
  }
}

function ecdsaVerifier(key: KeyObject): IdentityKey['verifies'] {
  return (message, signature) => verify('sha256', message, { key, dsaEncoding: 'der' }, signature);
}

function ofSize(data: Buffer, size: number): Buffer {
  if (data.length !== size) throw new IdentityError(`the identity is a key of ${data.length} bytes`);
  return data;
}
