/**
 * Trojan chunks: encrypted messages that look like any full content-addressed chunk, with an address near the recipient.
 * `data-formats.md` 8.1. Vectors: test/vectors/messaging.json.
 *
 *   span      hint: H(key ‖ topic), first 8 bytes
 *   payload   nonce 32 ‖ x of an ephemeral public key 32 ‖ cipher 4032
 *   plain     length BE2 ‖ H(message), bytes 2..31 ‖ message; the rest of the cipher is random
 */
import { CHUNK_PAYLOAD_SIZE, SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { encodeSpan } from '../../formats/chunk/span.ts';
import { transcrypt } from '../../formats/crypto/counter-mode.ts';
import { ephemeralKey, publicKeyOf, sharedSecret } from '../../formats/crypto/ecdh.ts';
import { equalBytes } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { SignatureError } from '../../formats/crypto/signer.ts';
import type { Random } from '../../formats/random.ts';
import { bytesOf } from '../manifest/byte-text.ts';
import { PssError } from './errors.ts';

/** A payload without nonce, ephemeral key and integrity segment. */
export const MESSAGE_SIZE_MAX = 4000;
export const TROJAN_SIZE = SPAN_SIZE + CHUNK_PAYLOAD_SIZE;
export const NONCE_OFFSET = SPAN_SIZE;
export const NONCE_SIZE = 32;
/** The lowest bit of this nonce byte is the parity of the ephemeral key's y. */
const PARITY_OFFSET = NONCE_OFFSET + 28;
const EPHEMERAL_OFFSET = NONCE_OFFSET + NONCE_SIZE;
const COORDINATE_SIZE = 32;
const CIPHER_OFFSET = EPHEMERAL_OFFSET + COORDINATE_SIZE;
const CIPHER_SIZE = TROJAN_SIZE - CIPHER_OFFSET;
const INTEGRITY_SIZE = 32;
/** At the start of the integrity segment. */
const LENGTH_SIZE = 2;
/** SEC1: a compressed point with odd y; even is one less. */
const ODD_POINT = 3;

/** Of a full data chunk: a hint looks like it once in 2^64. */
const FULL_SPAN = encodeSpan(BigInt(CHUNK_PAYLOAD_SIZE));

/** Worth the key agreements. @param data of a content-addressed chunk */
export function mayBeTrojan(data: Uint8Array): boolean {
  return data.length === TROJAN_SIZE && !equalBytes(data.subarray(0, SPAN_SIZE), FULL_SPAN);
}

/** @param text of `byte-text.ts` @returns 32 bytes, also the private key of recipients who know only the topic */
export function topicOf(text: string): Uint8Array {
  return keccak256(bytesOf(text));
}

export interface Letter {
  /** 32 bytes. */
  readonly topic: Uint8Array;
  readonly message: Uint8Array;
  /** SEC1; absent: anyone who knows the topic. */
  readonly recipient: Uint8Array | undefined;
}

export interface Secret {
  readonly ephemeral: Uint8Array;
  /** 32 bytes; `seal` sets the parity bit. */
  readonly nonce: Uint8Array;
  padding(size: number): Uint8Array;
}

export function randomSecret(random: Random): Secret {
  return {
    ephemeral: ephemeralKey(random),
    nonce: random.bytes(NONCE_SIZE),
    padding: (size) => random.bytes(size),
  };
}

/** Without its mined nonce. @returns 4104 bytes @throws PssError `MESSAGE_TOO_LONG`, SignatureError `PUBLIC_KEY_INVALID` */
export function seal({ topic, message, recipient }: Letter, secret: Secret): Uint8Array {
  if (message.length > MESSAGE_SIZE_MAX) {
    throw new PssError(
      'MESSAGE_TOO_LONG',
      `message payload size cannot be greater than ${MESSAGE_SIZE_MAX} bytes`,
    );
  }
  const shared = sharedSecret(secret.ephemeral, recipient ?? publicKeyOf(topic));
  const { hint, key } = keyFrom(shared, topic);
  const plain = Buffer.concat([keccak256(message), message]);
  plain.writeUInt16BE(message.length);
  const cipher = transcrypt(key, plain);
  const point = publicKeyOf(secret.ephemeral);
  const data = new Uint8Array(TROJAN_SIZE);
  data.set(hint);
  data.set(secret.nonce, NONCE_OFFSET);
  data[PARITY_OFFSET] = (data[PARITY_OFFSET]! & 0xfe) | (point[0] === ODD_POINT ? 1 : 0);
  data.set(point.subarray(1), EPHEMERAL_OFFSET);
  data.set(cipher, CIPHER_OFFSET);
  data.set(secret.padding(CIPHER_SIZE - cipher.length), CIPHER_OFFSET + cipher.length);
  return data;
}

/**
 * The first topic under which the chunk is a message for this key's holder, or for everyone. @param data any bytes @param
 * topics 32 bytes each
 * @returns undefined when there is none. Never throws for bad input.
 */
export function open(
  data: Uint8Array,
  privateKey: Uint8Array,
  topics: Iterable<Uint8Array>,
): { readonly topic: Uint8Array; readonly message: Uint8Array } | undefined {
  if (data.length !== TROJAN_SIZE) return undefined;
  // Both y give the same x of the product.
  const point = new Uint8Array(1 + COORDINATE_SIZE);
  point[0] = ODD_POINT;
  point.set(data.subarray(EPHEMERAL_OFFSET, CIPHER_OFFSET), 1);
  const own = secretOrNothing(privateKey, point);
  if (own === undefined) return undefined;
  for (const topic of topics) {
    // All but one topic in 2^127 are valid private keys; nobody can have sealed for the others.
    const message = openWith(data, own, topic) ?? openWith(data, secretOrNothing(topic, point), topic);
    if (message !== undefined) return { topic, message };
  }
  return undefined;
}

function secretOrNothing(privateKey: Uint8Array, point: Uint8Array): Uint8Array | undefined {
  try {
    return sharedSecret(privateKey, point);
  } catch (error) {
    if (error instanceof SignatureError) return undefined;
    throw error;
  }
}

function openWith(
  data: Uint8Array,
  shared: Uint8Array | undefined,
  topic: Uint8Array,
): Uint8Array | undefined {
  if (shared === undefined) return undefined;
  const { key, hint } = keyFrom(shared, topic);
  if (!equalBytes(hint, data.subarray(0, SPAN_SIZE))) return undefined;
  const plain = transcrypt(key, data.subarray(CIPHER_OFFSET));
  const length = new DataView(plain.buffer).getUint16(0);
  if (length > MESSAGE_SIZE_MAX) return undefined;
  const message = plain.slice(INTEGRITY_SIZE, INTEGRITY_SIZE + length);
  const whole = equalBytes(
    plain.subarray(LENGTH_SIZE, INTEGRITY_SIZE),
    keccak256(message).subarray(LENGTH_SIZE),
  );
  return whole ? message : undefined;
}

interface LetterKey {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** 8 bytes. */
  readonly hint: Uint8Array;
}

function keyFrom(shared: Uint8Array, topic: Uint8Array): LetterKey {
  const key = keccak256(shared, topic);
  return { key, hint: keccak256(key, topic).subarray(0, SPAN_SIZE) };
}
