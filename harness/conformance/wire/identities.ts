/** A node must accept every kind of key. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import type { OwnIdentity } from '../../../node/p2p/address/identity-key.ts';
import { identityOf } from '../../places/links/tap/identity.ts';

export const KEY_KINDS = ['Ed25519', 'P-256', 'secp256k1'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** Nothing that a node remembers applies to it. */
export function freshIdentity(kind: KeyKind): OwnIdentity {
  const { privateKey } =
    kind === 'Ed25519'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: kind === 'P-256' ? 'P-256' : 'secp256k1' });
  return identityOf(privateKey);
}

/** @returns 32 bytes, of the text alone */
export function digestOf(text: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(text).digest());
}
