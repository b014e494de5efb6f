/**
 * libp2p identities: who signed, and under which peer id. The identities of the public network's nodes are P-256 keys,
 * encoded and signed in a way that js-libp2p does not read (`p2p-protocols.md` 1.2); every other kind is left to it.
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { publicKeyFromProtobuf } from '@libp2p/crypto/keys';
import { peerIdFromMultihash, peerIdFromPublicKey } from '@libp2p/peer-id';
import { decodeMessage } from './codec.ts';

const PublicKey = { type: [1, 'uint32'], data: [2, 'bytes'] } as const;

const KEY_TYPE_ECDSA = 3;
const MULTIHASH_SHA256 = 0x12;
const SHA256_SIZE = 32;

export class IdentityError extends Error {
  readonly code = 'IDENTITY_INVALID';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IdentityError';
  }
}

/** The public key of a libp2p identity. */
export interface IdentityKey {
  /** Text form of the peer id. */
  readonly peerId: string;
  verifies(message: Uint8Array, signature: Uint8Array): Promise<boolean>;
}

/**
 * @param protobuf the public key as the peer sent it; its hash is the peer id, so it is never re-encoded
 * @throws IdentityError
 * Vectors: `test/vectors/p2p.json`, `identities`.
 */
export function identityKeyOf(protobuf: Uint8Array): IdentityKey {
  try {
    const { type, data } = decodeMessage(PublicKey, protobuf);
    return type === KEY_TYPE_ECDSA ? p256Key(protobuf, data) : otherKey(protobuf);
  } catch (cause) {
    if (cause instanceof IdentityError) throw cause;
    throw new IdentityError('the identity is no public key', { cause });
  }
}

function p256Key(protobuf: Uint8Array, spki: Uint8Array): IdentityKey {
  const key: KeyObject = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new IdentityError('the identity is on another curve than P-256');
  }
  return {
    peerId: hashedPeerId(protobuf),
    verifies: (message, signature) =>
      Promise.resolve(verify('sha256', message, { key, dsaEncoding: 'der' }, signature)),
  };
}

function otherKey(protobuf: Uint8Array): IdentityKey {
  const key = publicKeyFromProtobuf(protobuf);
  return {
    peerId: peerIdFromPublicKey(key).toString(),
    verifies: async (message, signature) => key.verify(message, signature),
  };
}

/** Public keys of more than 42 bytes are named by their hash. */
function hashedPeerId(protobuf: Uint8Array): string {
  const digest = createHash('sha256').update(protobuf).digest();
  const bytes = Uint8Array.of(MULTIHASH_SHA256, SHA256_SIZE, ...digest);
  return peerIdFromMultihash({ code: MULTIHASH_SHA256, size: SHA256_SIZE, digest, bytes }).toString();
}
