import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { fc, test as property } from '@fast-check/vitest';
import { generateKeyPair, generateKeyPairFromSeed, publicKeyToProtobuf } from '@libp2p/crypto/keys';
import { peerIdFromPrivateKey } from '@libp2p/peer-id';
import { expect, test } from 'vitest';
import { fromHex } from '../../../../formats/crypto/hex.ts';
import { IdentityError, identityKeyOf, ownIdentity } from '../../../../node/p2p/address/identity-key.ts';
import { generateDhKey, NoiseError } from '../../../../node/p2p/noise/noise.ts';
import {
  type NoiseIdentity,
  noiseIdentity,
  noiseInbound,
  noiseOutbound,
  noisePayload,
  StaticKeyProofs,
} from '../../../../node/p2p/noise/noise-stream.ts';
import { Inbox } from '../../../../node/p2p/stream/inbox.ts';
import type { RawStream } from '../../../../node/p2p/transport.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };
import { testKey } from '../memory-nodes.ts';

const MUXER = '/yamux/1.0.0';
const STATIC_KEY_PREFIX = Buffer.from('noise-libp2p-static-key:');
const keyProtobuf = (spki: Uint8Array) => Uint8Array.of(8, 3, 18, spki.length, ...spki);
const spkiOf = (key: KeyObject) =>
  new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' }));

function rsaProtobuf(modulusLength: number): Uint8Array {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength });
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return Uint8Array.of(8, 0, 18, (spki.length & 0x7f) | 0x80, spki.length >> 7, ...spki);
}

/** `tamper` sees everything that the first end writes. */
function pair(tamper: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes): [RawStream, RawStream] {
  const [toFirst, toSecond] = [new Inbox(() => undefined), new Inbox(() => undefined)];
  const end = (own: Inbox, other: Inbox, change: (bytes: Uint8Array) => Uint8Array): RawStream => ({
    write: (bytes) => other.push(change(bytes)),
    drained: () => Promise.resolve(),
    take: () => own.take(),
    read: () => own.read(),
    closeWrite: () => other.end(),
    reset: (reason) => other.fail(reason),
  });
  return [end(toFirst, toSecond, tamper), end(toSecond, toFirst, (bytes) => bytes)];
}

function ed25519(n: number): { own: NoiseIdentity; peerId: string } {
  const identity = ownIdentity(testKey(n));
  return {
    own: noiseIdentity(identity, generateDhKey(), { muxers: [MUXER], proofs: new StaticKeyProofs() }),
    peerId: identity.peerId,
  };
}

/** A node of the public network: key in SubjectPublicKeyInfo, signature in DER. */
function p256(): { own: NoiseIdentity; peerId: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const staticKey = generateDhKey();
  const identityKey = keyProtobuf(spkiOf(privateKey));
  const identitySig = sign('sha256', Buffer.concat([STATIC_KEY_PREFIX, staticKey.publicKey]), privateKey);
  const payload = noisePayload({ identityKey, identitySig, muxers: [] });
  return {
    own: { staticKey, payload, proofs: new StaticKeyProofs() },
    peerId: identityKeyOf(identityKey).peerId,
  };
}

test.each(vectors.identities)(
  'peer id of a P-256 identity: $peerId',
  ({ protobuf, peerId, message, signature }) => {
    const key = identityKeyOf(fromHex(protobuf));
    expect(key.peerId).toBe(peerId);
    expect(key.verifies(fromHex(message), fromHex(signature))).toBe(true);
    expect(key.verifies(fromHex(`${message}00`), fromHex(signature))).toBe(false);
  },
);

test('our identity and its signature equal those of libp2p for the same seed', async () => {
  const theirs = await generateKeyPairFromSeed('Ed25519', testKey(3));
  const ours = ownIdentity(testKey(3));
  expect(ours.peerId).toBe(peerIdFromPrivateKey(theirs).toString());
  expect(ours.publicKey).toEqual(publicKeyToProtobuf(theirs.publicKey));
  expect(ours.sign(STATIC_KEY_PREFIX)).toEqual(new Uint8Array(await theirs.sign(STATIC_KEY_PREFIX)));
});

test.each(['Ed25519', 'secp256k1', 'RSA'] as const)(
  'a libp2p identity of kind %s keeps its peer id, and its signatures are accepted',
  async (kind) => {
    const theirs = kind === 'RSA' ? await generateKeyPair(kind, 2048) : await generateKeyPair(kind);
    const key = identityKeyOf(publicKeyToProtobuf(theirs.publicKey));
    expect(key.peerId).toBe(peerIdFromPrivateKey(theirs).toString());
    const signature = await theirs.sign(STATIC_KEY_PREFIX);
    expect(key.verifies(STATIC_KEY_PREFIX, signature)).toBe(true);
    expect(key.verifies(STATIC_KEY_PREFIX.subarray(1), signature)).toBe(false);
  },
);

test.each([
  ['an RSA key of 1024 bits', () => rsaProtobuf(1024)],
  ['a kind that libp2p has not', () => Uint8Array.of(8, 4, 18, 1, 0)],
  ['an Ed25519 key of 31 bytes', () => Uint8Array.of(8, 1, 18, 31, ...new Uint8Array(31))],
  ['a secp256k1 key that is no point', () => Uint8Array.of(8, 2, 18, 33, ...new Uint8Array(33).fill(5))],
])('%s is not a valid identity', (_name, protobuf) => {
  expect(() => identityKeyOf(protobuf())).toThrow(IdentityError);
});

test('a key on another curve is not a valid identity', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
  expect(() => identityKeyOf(keyProtobuf(spkiOf(privateKey)))).toThrow(IdentityError);
});

test('a verified proof is recognised, and a proof that differs from it is not accepted in its place', () => {
  const proofs = new StaticKeyProofs();
  const identity = ownIdentity(testKey(1));
  const { publicKey: staticKey } = generateDhKey();
  const signature = identity.sign(Buffer.concat([STATIC_KEY_PREFIX, staticKey]));
  const other = ownIdentity(testKey(2));
  expect(proofs.verified(staticKey, identity.publicKey, signature)).toBe(identity.peerId);
  expect(proofs.verified(staticKey, identity.publicKey, signature)).toBe(identity.peerId);
  expect(() => proofs.verified(staticKey, other.publicKey, signature)).toThrow(IdentityError);
  expect(() => proofs.verified(staticKey, identity.publicKey, new Uint8Array(64))).toThrow(IdentityError);
  expect(() => proofs.verified(generateDhKey().publicKey, identity.publicKey, signature)).toThrow(
    IdentityError,
  );
});

property.prop([fc.uint8Array({ maxLength: 120 }), fc.boolean()])(
  'arbitrary bytes are an identity or an error of their own',
  (bytes, ecdsa) => {
    try {
      expect(identityKeyOf(ecdsa ? keyProtobuf(bytes) : bytes).peerId).not.toBe('');
    } catch (error) {
      expect(error).toBeInstanceOf(IdentityError);
    }
  },
);

test('a P-256 peer is accepted in both directions, under the hash of its key', async () => {
  const [ours, theirs] = [ed25519(1), p256()];
  for (const dials of [true, false]) {
    const [a, b] = pair();
    const [dialler, listener] = dials ? [ours, theirs] : [theirs, ours];
    const [out, answered] = await Promise.all([
      noiseOutbound(a, dialler.own, listener.peerId),
      noiseInbound(b, listener.own),
    ]);
    expect([out.remoteId, answered.remoteId]).toEqual([listener.peerId, dialler.peerId]);
    expect(dials ? answered.muxers : out.muxers).toEqual([MUXER]);
    expect(dials ? out.muxers : answered.muxers).toEqual([]);
  }
  expect(theirs.peerId).toMatch(/^Qm/);
});

test('a dialled node with an unexpected identity does not learn who we are', async () => {
  const [ours, theirs, expected] = [ed25519(1), p256(), p256()];
  let written = 0;
  const [a, b] = pair((bytes) => {
    written++;
    return bytes;
  });
  const answered = noiseInbound(b, theirs.own);
  await expect(noiseOutbound(a, ours.own, expected.peerId)).rejects.toThrow(IdentityError);
  expect(written).toBe(1);
  a.closeWrite();
  await expect(answered).rejects.toMatchObject({ code: 'STREAM_ENDED' });
});

test('a static key that the identity did not sign is refused', async () => {
  const [ours, honest] = [ed25519(1), p256()];
  const forged = { ...honest.own, staticKey: generateDhKey() };
  const [a, b] = pair();
  const answered = noiseInbound(b, forged);
  await expect(noiseOutbound(a, ours.own, undefined)).rejects.toThrow('not signed');
  a.closeWrite();
  await expect(answered).rejects.toThrow();
});

test.each([0, 1, 640, 641, 65_519, 65_520, 200_000])(
  '%i bytes arrive as they were sent, then the end',
  async (size) => {
    const [ours, theirs] = [ed25519(1), p256()];
    const [a, b] = pair();
    const [out, answered] = await Promise.all([
      noiseOutbound(a, ours.own, theirs.peerId),
      noiseInbound(b, theirs.own),
    ]);
    const bytes = Uint8Array.from({ length: size }, (_, i) => i);
    out.stream.write(bytes);
    out.stream.closeWrite();
    const parts: Uint8Array[] = [];
    for (let part = await answered.stream.read(); part !== undefined; part = await answered.stream.read()) {
      parts.push(part);
    }
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  },
);

test.each([5, 5_000])('a changed message of %i bytes ends the channel', async (size) => {
  const [ours, theirs] = [ed25519(1), p256()];
  let secured = false;
  const [a, b] = pair((bytes) => {
    const copy = bytes.slice();
    if (secured) copy[5] = (copy[5] as number) ^ 1;
    return copy;
  });
  const [out, answered] = await Promise.all([
    noiseOutbound(a, ours.own, theirs.peerId),
    noiseInbound(b, theirs.own),
  ]);
  secured = true;
  out.stream.write(new Uint8Array(size));
  await expect(answered.stream.read()).rejects.toThrow(NoiseError);
});

property.prop([fc.uint8Array({ maxLength: 200 })])(
  'a stranger that speaks no noise is refused',
  async (bytes) => {
    const { own } = ed25519(1);
    const [a, b] = pair();
    const answered = noiseInbound(b, own);
    a.write(Buffer.concat([Uint8Array.of(0, bytes.length), bytes]));
    a.closeWrite();
    await expect(answered).rejects.toThrow();
  },
);
