/**
 * The noise protocol of libp2p: both sides prove their identity and name their multiplexers. Messages have a length prefix,
 * two bytes big endian.
 */

import { equalBytes } from '../../../formats/crypto/hex.ts';
import { IdentityError, identityKeyOf, type OwnIdentity } from '../address/identity-key.ts';
import { decodeMessage, encodeMessage } from '../codec/codec.ts';
import { StreamError } from '../host.ts';
import type { RawStream } from '../transport.ts';
import {
  type CipherState,
  type DhKey,
  NoiseInitiator,
  NoiseResponder,
  type Received,
  TAG_SIZE,
} from './noise.ts';

export const NOISE_ID = '/noise';

const LENGTH_SIZE = 2;
const MESSAGE_SIZE_MAX = 65_535;
const PLAINTEXT_SIZE_MAX = MESSAGE_SIZE_MAX - TAG_SIZE;
const SIGNED_PREFIX = Buffer.from('noise-libp2p-static-key:');

const Extensions = { streamMuxers: [2, ['repeated', 'string']] } as const;
const Payload = {
  identityKey: [1, 'bytes'],
  identitySig: [2, 'bytes'],
  extensions: [4, Extensions],
} as const;

export interface NoiseIdentity {
  readonly staticKey: DhKey;
  readonly payload: Uint8Array;
  readonly proofs: StaticKeyProofs;
}

/** @param muxers protocol ids of the multiplexers */
export function noisePayload(proof: {
  identityKey: Uint8Array;
  identitySig: Uint8Array;
  muxers: string[];
}): Uint8Array {
  const { identityKey, identitySig, muxers: streamMuxers } = proof;
  return encodeMessage(Payload, { identityKey, identitySig, extensions: { streamMuxers } });
}

/** Signed once: the static key lives as long as the process. */
export function noiseIdentity(
  own: OwnIdentity,
  staticKey: DhKey,
  { muxers, proofs }: { readonly muxers: string[]; readonly proofs: StaticKeyProofs },
): NoiseIdentity {
  const identityKey = own.publicKey;
  const identitySig = own.sign(Buffer.concat([SIGNED_PREFIX, staticKey.publicKey]));
  return { staticKey, payload: noisePayload({ identityKey, identitySig, muxers }), proofs };
}

/** A node has at most as many peers. */
const PROOFS_MAX = 2_000;

/** Verified static keys: verifying one is a fifth of a connection's cost, and a peer repeats its proof. */
export class StaticKeyProofs {
  readonly #proved = new Map<string, { identityKey: Uint8Array; identitySig: Uint8Array; peerId: string }>();

  /** @returns the peer id of the identity @throws IdentityError */
  verified(staticKey: Uint8Array, identityKey: Uint8Array, identitySig: Uint8Array): string {
    const id = Buffer.from(staticKey).toString('latin1');
    const known = this.#proved.get(id);
    const isKnown =
      known !== undefined &&
      equalBytes(known.identityKey, identityKey) &&
      equalBytes(known.identitySig, identitySig);
    if (isKnown) return known.peerId;
    const identity = identityKeyOf(identityKey);
    if (!identity.verifies(Buffer.concat([SIGNED_PREFIX, staticKey]), identitySig)) {
      throw new IdentityError('the static key is not signed by the identity');
    }
    if (this.#proved.size >= PROOFS_MAX) this.#proved.delete(this.#proved.keys().next().value as string);
    // The received bytes are views of something longer.
    const proof = {
      identityKey: new Uint8Array(identityKey),
      identitySig: new Uint8Array(identitySig),
      peerId: identity.peerId,
    };
    this.#proved.set(id, proof);
    return identity.peerId;
  }
}

export interface NoiseChannel {
  readonly remoteId: string;
  /** None when the other side leaves them to a negotiation. */
  readonly muxers: readonly string[];
  readonly stream: RawStream;
}

/**
 * Only `expected` learns who we are.
 * @throws NoiseError, IdentityError, StreamError
 */
export async function noiseOutbound(
  raw: RawStream,
  own: NoiseIdentity,
  expected: string | undefined,
): Promise<NoiseChannel> {
  const frames = new NoiseFrames(raw);
  const noise = new NoiseInitiator(own.staticKey);
  raw.write(frame(noise.start()));
  const other = identified(noise.receive(await frames.read()), own.proofs);
  if (expected !== undefined && other.remoteId !== expected) {
    throw new IdentityError(`another node answers: ${other.remoteId}`);
  }
  raw.write(frame(noise.finish(own.payload)));
  return { ...other, stream: new EncryptedStream(raw, frames, noise.ciphers()) };
}

/** @throws NoiseError, IdentityError, StreamError */
export async function noiseInbound(raw: RawStream, own: NoiseIdentity): Promise<NoiseChannel> {
  const frames = new NoiseFrames(raw);
  const noise = new NoiseResponder(own.staticKey);
  raw.write(frame(noise.answer(await frames.read(), own.payload)));
  const other = identified(noise.finish(await frames.read()), own.proofs);
  return { ...other, stream: new EncryptedStream(raw, frames, noise.ciphers()) };
}

/** Who holds the static key. @throws IdentityError */
function identified({ staticKey, payload }: Received, proofs: StaticKeyProofs): Omit<NoiseChannel, 'stream'> {
  const { identityKey, identitySig, extensions } = decodeMessage(Payload, payload);
  const remoteId = proofs.verified(staticKey, identityKey, identitySig);
  return { remoteId, muxers: extensions?.streamMuxers ?? [] };
}

function frame(message: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(LENGTH_SIZE + message.length);
  out.writeUInt16BE(message.length);
  out.set(message, LENGTH_SIZE);
  return out;
}

function lengthOf(size: number): Buffer {
  const out = Buffer.allocUnsafe(LENGTH_SIZE);
  out.writeUInt16BE(size);
  return out;
}

class NoiseFrames {
  readonly #raw: RawStream;
  #buffer: Uint8Array = new Uint8Array(0);

  constructor(raw: RawStream) {
    this.#raw = raw;
  }

  take(): Uint8Array | undefined {
    for (;;) {
      const message = this.#next();
      if (message !== undefined) return message;
      const bytes = this.#raw.take();
      if (bytes === undefined) return undefined;
      this.#push(bytes);
    }
  }

  /** False at the end. @throws StreamError `STREAM_ENDED` within a message */
  async more(): Promise<boolean> {
    const bytes = await this.#raw.read();
    if (bytes !== undefined) this.#push(bytes);
    else if (this.#buffer.length > 0)
      throw new StreamError('STREAM_ENDED', 'the other side closed within a message');
    return bytes !== undefined;
  }

  /** @throws StreamError `STREAM_ENDED` */
  async read(): Promise<Uint8Array> {
    for (;;) {
      const message = this.take();
      if (message !== undefined) return message;
      if (!(await this.more()))
        throw new StreamError('STREAM_ENDED', 'the other side closed during the handshake');
    }
  }

  #next(): Uint8Array | undefined {
    const [high, low] = this.#buffer;
    if (high === undefined || low === undefined) return undefined;
    const end = LENGTH_SIZE + high * 256 + low;
    if (this.#buffer.length < end) return undefined;
    const message = this.#buffer.subarray(LENGTH_SIZE, end);
    this.#buffer = this.#buffer.subarray(end);
    return message;
  }

  #push(bytes: Uint8Array): void {
    this.#buffer = this.#buffer.length === 0 ? bytes : Buffer.concat([this.#buffer, bytes]);
  }
}

class EncryptedStream implements RawStream {
  readonly #raw: RawStream;
  readonly #frames: NoiseFrames;
  readonly #ciphers: { readonly send: CipherState; readonly receive: CipherState };

  constructor(raw: RawStream, frames: NoiseFrames, ciphers: { send: CipherState; receive: CipherState }) {
    this.#raw = raw;
    this.#frames = frames;
    this.#ciphers = ciphers;
  }

  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PLAINTEXT_SIZE_MAX) {
      const plaintext = bytes.subarray(at, at + PLAINTEXT_SIZE_MAX);
      const pieces = this.#ciphers.send.encrypt(plaintext);
      if (pieces.length === 1) this.#raw.write(frame(pieces[0] as Uint8Array));
      else for (const piece of [lengthOf(plaintext.length + TAG_SIZE), ...pieces]) this.#raw.write(piece);
    }
  }

  drained(): Promise<void> | undefined {
    return this.#raw.drained();
  }

  take(): Uint8Array | undefined {
    const message = this.#frames.take();
    return message === undefined ? undefined : this.#ciphers.receive.decrypt(message);
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const bytes = this.take();
      if (bytes !== undefined) return bytes;
      if (!(await this.#frames.more())) return undefined;
    }
  }

  closeWrite(): void {
    this.#raw.closeWrite();
  }

  reset(reason: Error): void {
    this.#raw.reset(reason);
  }
}
