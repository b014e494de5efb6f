/**
 * Noise_XX_25519_ChaChaPoly_SHA256: the handshake state of the Noise Protocol Framework (revision 34), pure.
 *
 *   initiator → responder   e
 *   initiator ← responder   e, ee, s, es, payload
 *   initiator → responder   s, se, payload
 */
import { diffieHellman, generateKeyPairSync, hash, hkdfSync, type KeyObject } from 'node:crypto';
import { publicKeyOf } from '../address/public-key.ts';
import { decrypt, encrypt } from './cipher.ts';

const PROTOCOL_NAME = 'Noise_XX_25519_ChaChaPoly_SHA256';
export const TAG_SIZE = 16;
const KEY_SIZE = 32;
const NOTHING = new Uint8Array(0);
/** DER before an X25519 key's 32 bytes. */
const X25519_SPKI = Buffer.from('302a300506032b656e032100', 'hex');

export class NoiseError extends Error {
  readonly code = 'NOISE_FAILED';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NoiseError';
  }
}

export interface DhKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

export function generateDhKey(): DhKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  // A tenth of the cost of an export as DER.
  const { x } = publicKey.export({ format: 'jwk' });
  return { publicKey: new Uint8Array(Buffer.from(x as string, 'base64url')), privateKey };
}

export class CipherState {
  readonly #key: Uint8Array;
  /** Four zero bytes, then the count, little endian. */
  readonly #nonce = Buffer.alloc(12);
  #count = 0n;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** @returns ciphertext ‖ tag, in pieces */
  encrypt(plaintext: Uint8Array, associated: Uint8Array = NOTHING): readonly Uint8Array[] {
    const pieces = encrypt(plaintext, this.#nonce, associated, this.#key);
    this.#next();
    return pieces;
  }

  /** @param ciphertext with its tag @throws NoiseError when it was not encrypted under this key at this count */
  decrypt(ciphertext: Uint8Array, associated: Uint8Array = NOTHING): Uint8Array {
    if (ciphertext.length < TAG_SIZE) throw new NoiseError('message shorter than its tag');
    try {
      const bytes = decrypt(ciphertext, this.#nonce, associated, this.#key);
      this.#next();
      return bytes;
    } catch (cause) {
      throw new NoiseError('message is not authentic', { cause });
    }
  }

  #next(): void {
    this.#nonce.writeBigUInt64LE(++this.#count, 4);
  }
}

/** What both sides derive from every byte of the handshake. */
class SymmetricState {
  // As long as a hash, so it serves as its own hash.
  #hash: Uint8Array = Buffer.from(PROTOCOL_NAME);
  #chainingKey: Uint8Array = Buffer.from(PROTOCOL_NAME);
  #cipher: CipherState | undefined;

  mixHash(bytes: Uint8Array): void {
    this.#hash = hash('sha256', Buffer.concat([this.#hash, bytes]), 'buffer');
  }

  mixKey(own: DhKey, remote: Uint8Array): void {
    const [chainingKey, key] = derive(this.#chainingKey, sharedSecret(own, remote));
    this.#chainingKey = chainingKey;
    this.#cipher = new CipherState(key);
  }

  encryptAndHash(plaintext: Uint8Array): Uint8Array {
    const bytes = Buffer.concat(this.#cipher?.encrypt(plaintext, this.#hash) ?? [plaintext]);
    this.mixHash(bytes);
    return bytes;
  }

  decryptAndHash(bytes: Uint8Array): Uint8Array {
    const plaintext = this.#cipher?.decrypt(bytes, this.#hash) ?? bytes;
    this.mixHash(bytes);
    return plaintext;
  }

  /** @returns the initiator's direction, then the responder's */
  split(): [CipherState, CipherState] {
    const [first, second] = derive(this.#chainingKey, NOTHING);
    return [new CipherState(first), new CipherState(second)];
  }
}

/** The payload tells who holds the static key. */
export interface Received {
  /** 32 bytes. */
  readonly staticKey: Uint8Array;
  readonly payload: Uint8Array;
}

/** Dialling side: `start`, `receive`, `finish`, in this order. */
export class NoiseInitiator {
  readonly #static: DhKey;
  readonly #ephemeral = generateDhKey();
  readonly #state = new SymmetricState();
  #remoteEphemeral: Uint8Array = NOTHING;

  constructor(staticKey: DhKey) {
    this.#static = staticKey;
    this.#state.mixHash(NOTHING);
  }

  start(): Uint8Array {
    const { publicKey } = this.#ephemeral;
    this.#state.mixHash(publicKey);
    this.#state.encryptAndHash(NOTHING);
    return publicKey;
  }

  /** @throws NoiseError */
  receive(message: Uint8Array): Received {
    const [ephemeral, encryptedStatic, rest] = parts(message, [KEY_SIZE, KEY_SIZE + TAG_SIZE]);
    this.#state.mixHash(ephemeral);
    this.#state.mixKey(this.#ephemeral, ephemeral);
    const staticKey = this.#state.decryptAndHash(encryptedStatic);
    this.#state.mixKey(this.#ephemeral, staticKey);
    this.#remoteEphemeral = ephemeral;
    return { staticKey, payload: this.#state.decryptAndHash(rest) };
  }

  finish(payload: Uint8Array): Uint8Array {
    const encryptedStatic = this.#state.encryptAndHash(this.#static.publicKey);
    this.#state.mixKey(this.#static, this.#remoteEphemeral);
    return Buffer.concat([encryptedStatic, this.#state.encryptAndHash(payload)]);
  }

  ciphers(): { send: CipherState; receive: CipherState } {
    const [send, receive] = this.#state.split();
    return { send, receive };
  }
}

/** Accepting side: `answer`, `finish`, in this order. */
export class NoiseResponder {
  readonly #static: DhKey;
  readonly #ephemeral = generateDhKey();
  readonly #state = new SymmetricState();

  constructor(staticKey: DhKey) {
    this.#static = staticKey;
    this.#state.mixHash(NOTHING);
  }

  /** @throws NoiseError */
  answer(message: Uint8Array, payload: Uint8Array): Uint8Array {
    const [remoteEphemeral, rest] = parts(message, [KEY_SIZE]);
    const { publicKey } = this.#ephemeral;
    this.#state.mixHash(remoteEphemeral);
    this.#state.decryptAndHash(rest);
    this.#state.mixHash(publicKey);
    this.#state.mixKey(this.#ephemeral, remoteEphemeral);
    const encryptedStatic = this.#state.encryptAndHash(this.#static.publicKey);
    this.#state.mixKey(this.#static, remoteEphemeral);
    return Buffer.concat([publicKey, encryptedStatic, this.#state.encryptAndHash(payload)]);
  }

  /** @throws NoiseError */
  finish(message: Uint8Array): Received {
    const [encryptedStatic, rest] = parts(message, [KEY_SIZE + TAG_SIZE]);
    const staticKey = this.#state.decryptAndHash(encryptedStatic);
    this.#state.mixKey(this.#ephemeral, staticKey);
    return { staticKey, payload: this.#state.decryptAndHash(rest) };
  }

  ciphers(): { send: CipherState; receive: CipherState } {
    const [receive, send] = this.#state.split();
    return { send, receive };
  }
}

/** @throws NoiseError when the other side's key allows no shared secret */
function sharedSecret({ privateKey }: DhKey, remote: Uint8Array): Uint8Array {
  try {
    return diffieHellman({ privateKey, publicKey: publicKeyOf(Buffer.concat([X25519_SPKI, remote])) });
  } catch (cause) {
    throw new NoiseError('the other side sent an unusable key', { cause });
  }
}

/** HKDF (RFC 5869), two outputs, chaining key as salt. */
function derive(chainingKey: Uint8Array, input: Uint8Array): [Uint8Array, Uint8Array] {
  const bytes = new Uint8Array(hkdfSync('sha256', input, chainingKey, NOTHING, 2 * KEY_SIZE));
  return [bytes.slice(0, KEY_SIZE), bytes.slice(KEY_SIZE)];
}

/** The last part is what remains. */
function parts(message: Uint8Array, sizes: readonly [number]): [Uint8Array, Uint8Array];
function parts(message: Uint8Array, sizes: readonly [number, number]): [Uint8Array, Uint8Array, Uint8Array];
function parts(message: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const out: Uint8Array[] = [];
  let at = 0;
  for (const size of sizes) {
    if (message.length < at + size) throw new NoiseError('handshake message too short');
    out.push(message.subarray(at, at + size));
    at += size;
  }
  return [...out, message.subarray(at)];
}
