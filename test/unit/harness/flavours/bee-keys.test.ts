import { createECDH, createPrivateKey, createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { p256Identity } from '../../../../harness/flavours/bee-keys.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };

const scalar = (value: bigint) => new Uint8Array(Buffer.from(value.toString(16).padStart(64, '0'), 'hex'));
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

test('the peer id is that of a real node with the same key', () => {
  expect(p256Identity(scalar(1n)).peerId).toBe(vectors.identities[0]?.peerId);
});

test('the key file holds the private key as a SEC1 structure, and is named by the uncompressed point', () => {
  const { secret, address } = p256Identity(scalar(12_345n));
  const key = createPrivateKey({ key: Buffer.from(secret), format: 'der', type: 'sec1' });
  const { d = '', x = '', y = '' } = key.export({ format: 'jwk' });
  expect(toHex(Buffer.from(d, 'base64url'))).toBe(toHex(scalar(12_345n)));
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(scalar(12_345n));
  expect(address).toBe(ecdh.getPublicKey('hex'));
  expect(address).toBe(`04${toHex(Buffer.from(x, 'base64url'))}${toHex(Buffer.from(y, 'base64url'))}`);
  expect(createPublicKey(key).asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
});

test.each([0n, ORDER, ORDER + 1n])(
  'an invalid private key (%s) is mapped to a valid one, always the same',
  (value) => {
    const identity = p256Identity(scalar(value));
    expect(identity.peerId).toMatch(/^Qm[1-9A-HJ-NP-Za-km-z]{44}$/);
    expect(p256Identity(scalar(value))).toEqual(identity);
  },
);
