/** An Ed25519 key, as in our nodes' peer id (p2p-protocols.md 1.2). */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { toBase58 } from '../../formats/crypto/base58.ts';

/** The PKCS #8 header before the 32 bytes of an Ed25519 seed. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Identity multihash of 36 bytes with a protobuf key: type Ed25519, 32 bytes. */
const PEER_ID_PREFIX = Buffer.from('002408011220', 'hex');

export interface Ed25519Identity {
  readonly pem: string;
  readonly peerId: string;
}

/** @param seed 32 bytes, the private key */
export function ed25519Identity(seed: Uint8Array): Ed25519Identity {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  return {
    pem: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
    peerId: toBase58(Buffer.concat([PEER_ID_PREFIX, spki.subarray(-32)])),
  };
}
