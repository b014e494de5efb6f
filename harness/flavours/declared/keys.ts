import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import { toBase58 } from '../../../formats/crypto/base58.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { encryptKey } from '../../../formats/crypto/keystore.ts';
import { systemRandom } from '../../../formats/random.ts';
import { p256Identity, validScalar } from '../bee-keys.ts';
import type { NodeKeys, PlannedFile } from '../flavour.ts';
import { ed25519Identity } from '../svc-keys.ts';
import type { DeclaredFlavour } from './file.ts';
import { PASSWORD } from './values.ts';

/** The cheapest that the format allows: start-up time instead of secrecy. */
const SCRYPT = { n: 2, r: 8, p: 1 } as const;
/** Identity multihash of 37 bytes, then a protobuf key: type Secp256k1, 33 bytes. */
const SECP256K1_PREFIX = Buffer.from('002508021221', 'hex');

type Curve = DeclaredFlavour['keys']['libp2p']['type'];

export function peerIdOf({ keys, peerId }: NodeKeys, curve: Curve): string {
  if (curve === 'ed25519') return peerId;
  if (curve === 'p256') return p256Identity(keys.libp2p).peerId;
  const ecdh = createECDH('secp256k1');
  ecdh.setPrivateKey(keys.libp2p);
  return toBase58(Buffer.concat([SECP256K1_PREFIX, ecdh.getPublicKey(null, 'compressed')]));
}

export function libp2pPem({ keys }: NodeKeys, curve: Curve): string {
  return pemOf(curve === 'p256' ? validScalar(keys.libp2p) : keys.libp2p, curve);
}

export function keyFiles({ keys }: DeclaredFlavour, identity: NodeKeys): PlannedFile[] {
  const { libp2p } = keys;
  const files = [
    { file: keys.swarm, curve: 'secp256k1', secret: identity.keys.swarm, address: identity.ethereum },
    { file: keys.pss, curve: 'secp256k1', secret: identity.keys.pss, address: '' },
    {
      file: libp2p.path === undefined ? undefined : { path: libp2p.path, format: libp2p.format },
      curve: libp2p.type,
      secret: identity.keys.libp2p,
      address: libp2p.type === 'p256' ? p256Identity(identity.keys.libp2p).address : '',
    },
  ] as const;
  return files.flatMap(({ file, curve, secret, address }) =>
    file === undefined
      ? []
      : [
          {
            path: file.path,
            content: keyContent(curve === 'p256' ? validScalar(secret) : secret, { ...file, curve, address }),
            ...(file.format === 'raw' ? { encoding: 'latin1' as const } : {}),
          },
        ],
  );
}

function keyContent(
  secret: Uint8Array,
  {
    format,
    curve,
    address,
  }: {
    readonly format: NonNullable<DeclaredFlavour['keys']['swarm']>['format'];
    readonly curve: Curve;
    readonly address: string;
  },
): string {
  switch (format) {
    case 'hex':
      return `${toHex(secret)}\n`;
    case 'raw':
      return Buffer.from(secret).toString('latin1');
    case 'pem':
      return pemOf(secret, curve);
    case 'keystore':
      return encryptKey(
        // As Bee keeps it: a structure, not a scalar (node-behaviour.md 1.7).
        curve === 'p256' ? p256Identity(secret).secret : secret,
        { password: PASSWORD, random: systemRandom(), address, scrypt: SCRYPT },
      );
  }
}

function pemOf(secret: Uint8Array, curve: Curve): string {
  return keyObject(secret, curve).export({ format: 'pem', type: 'pkcs8' }).toString();
}

function keyObject(secret: Uint8Array, curve: Curve): KeyObject {
  if (curve === 'ed25519') return createPrivateKey(ed25519Identity(secret).pem);
  if (curve === 'p256') return createPrivateKey(p256Identity(secret).pem);
  const ecdh = createECDH('secp256k1');
  ecdh.setPrivateKey(secret);
  const point = ecdh.getPublicKey();
  const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
  return createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'secp256k1',
      d: base64url(secret),
      x: base64url(point.subarray(1, 33)),
      y: base64url(point.subarray(33)),
    },
  });
}
