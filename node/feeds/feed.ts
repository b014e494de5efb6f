/** Single-owner chunks with ascending ids. `data-formats.md` 4.2. Vectors: test/vectors/feeds.json. */
import { socAddress } from '../../formats/chunk/soc.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';

const INDEX_SIZE = 8;
/** 64 bits. */
export const INDEX_MAX = 2n ** 64n - 1n;

export interface Feed {
  /** 20 bytes. */
  readonly owner: Uint8Array;
  /** 32 bytes by convention. */
  readonly topic: Uint8Array;
}

/** @param index wraps around after 2^64-1 @returns 8 bytes, big-endian */
export function indexBytes(index: bigint): Uint8Array {
  const bytes = new Uint8Array(INDEX_SIZE);
  new DataView(bytes.buffer).setBigUint64(0, index);
  return bytes;
}

/** @returns 32 bytes */
export function updateId(topic: Uint8Array, index: bigint): Uint8Array {
  return keccak256(topic, indexBytes(index));
}

/** @returns 32 bytes */
export function updateAddress({ owner, topic }: Feed, index: bigint): Uint8Array {
  return socAddress(updateId(topic, index), owner);
}
