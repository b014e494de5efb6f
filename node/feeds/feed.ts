/** Single-owner chunks whose ids count up. `data-formats.md` 4.2. Vectors: test/vectors/feeds.json. */
import { socAddress } from '../../formats/chunk/soc.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';

const INDEX_SIZE = 8;
/** Updates are numbered with unsigned 64-bit integers. */
export const INDEX_MAX = 2n ** 64n - 1n;

export interface Feed {
  /** Chain address, 20 bytes. */
  readonly owner: Uint8Array;
  /** 32 bytes by convention, any number in practice. */
  readonly topic: Uint8Array;
}

/** @param index 0..2^64-1; wraps around after the last @returns 8 bytes, big-endian */
export function indexBytes(index: bigint): Uint8Array {
  const bytes = new Uint8Array(INDEX_SIZE);
  new DataView(bytes.buffer).setBigUint64(0, index);
  return bytes;
}

/** Id of the single-owner chunk that is the update of that index. @returns 32 bytes */
export function updateId(topic: Uint8Array, index: bigint): Uint8Array {
  return keccak256(topic, indexBytes(index));
}

/** @returns 32 bytes */
export function updateAddress({ owner, topic }: Feed, index: bigint): Uint8Array {
  return socAddress(updateId(topic, index), owner);
}
