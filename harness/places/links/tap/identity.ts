/** Ed25519 as our nodes have it, P-256 as a Bee has it, or secp256k1. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type OwnIdentity, ownIdentity, peerIdOfKey } from '../../../../node/p2p/address/identity-key.ts';
import { encodeMessage } from '../../../../node/p2p/codec/codec.ts';

const PublicKey = { type: [1, 'uint32'], data: [2, 'bytes'] } as const;
const KEY_TYPE = { secp256k1: 2, ecdsa: 3 } as const;
/** The uncompressed point at the end of the DER structure has two coordinates. */
const COORDINATE_SIZE = 32;

/** @throws TypeError for a key of another kind */
export function identityOf(key: KeyObject): OwnIdentity {
  if (key.asymmetricKeyType === 'ed25519') {
    const { d = '' } = key.export({ format: 'jwk' });
    return ownIdentity(new Uint8Array(Buffer.from(d, 'base64url')));
  }
  const publicKey = protobufOf(key);
  return {
    peerId: peerIdOfKey(publicKey),
    publicKey,
    sign: (message) => new Uint8Array(sign('sha256', message, { key, dsaEncoding: 'der' })),
  };
}

function protobufOf(key: KeyObject): Uint8Array {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  if (curve === 'prime256v1') return encodeMessage(PublicKey, { type: KEY_TYPE.ecdsa, data: spki });
  if (curve === 'secp256k1') {
    return encodeMessage(PublicKey, { type: KEY_TYPE.secp256k1, data: compressed(spki) });
  }
  throw new TypeError(`got a key of ${curve ?? key.asymmetricKeyType}, expected Ed25519, P-256 or secp256k1`);
}

function compressed(spki: Buffer): Buffer {
  const x = spki.subarray(-2 * COORDINATE_SIZE, -COORDINATE_SIZE);
  const isOdd = (spki.at(-1) ?? 0) % 2 === 1;
  return Buffer.concat([Uint8Array.of(isOdd ? 3 : 2), x]);
}
