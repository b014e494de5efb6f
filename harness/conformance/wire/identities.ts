/** libp2p identities of the checker: a node must accept a peer whatever kind of key it proves itself with. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { type OwnIdentity, ownIdentity, peerIdOfKey } from '../../../node/p2p/address/identity-key.ts';
import { encodeMessage } from '../../../node/p2p/codec/codec.ts';

export const KEY_KINDS = ['Ed25519', 'P-256', 'secp256k1'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

const PublicKey = { type: [1, 'uint32'], data: [2, 'bytes'] } as const;
/** Numbers of libp2p. */
const TYPE_OF = { secp256k1: 2, 'P-256': 3 } as const;
/** Bytes of a coordinate; the uncompressed point at the end of the DER structure has two. */
const COORDINATE_SIZE = 32;

/** A fresh identity: nothing that a node remembers from an earlier one applies to it. */
export function freshIdentity(kind: KeyKind): OwnIdentity {
  if (kind === 'Ed25519') return ownIdentity(new Uint8Array(randomBytes(32)));
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: kind === 'P-256' ? 'P-256' : 'secp256k1',
  });
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const data = kind === 'P-256' ? spki : compressed(spki);
  const protobuf = encodeMessage(PublicKey, { type: TYPE_OF[kind], data: new Uint8Array(data) });
  return {
    peerId: peerIdOfKey(protobuf),
    publicKey: protobuf,
    sign: (message) => signed(message, privateKey),
  };
}

/** A point as its x coordinate and the parity of the other one, 33 bytes. */
function compressed(spki: Buffer): Buffer {
  const x = spki.subarray(-2 * COORDINATE_SIZE, -COORDINATE_SIZE);
  const isOdd = (spki.at(-1) ?? 0) % 2 === 1;
  return Buffer.concat([Uint8Array.of(isOdd ? 3 : 2), x]);
}

function signed(message: Uint8Array, key: KeyObject): Uint8Array {
  return new Uint8Array(sign('sha256', message, { key, dsaEncoding: 'der' }));
}

/** @returns 32 bytes that depend on the text alone */
export function digestOf(text: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(text).digest());
}
