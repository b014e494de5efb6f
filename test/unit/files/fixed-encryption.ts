/** Encryption with the keys of the vectors. */
import { decodeSpan } from '../../../formats/chunk/span.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import type { Encryption } from '../../../node/files/encryption.ts';

const LEAF = 4096n;
const TEXT = new TextEncoder();

/** The key of a chunk follows from its content, padding is zeros. */
export function contentKeys(obfuscationKey: Uint8Array = new Uint8Array(32)): Encryption {
  return {
    secret: (plain, size) => ({ key: keccak256(TEXT.encode('K'), plain), padding: new Uint8Array(size) }),
    obfuscationKey: () => obfuscationKey,
  };
}

/** All leaves from left to right, then level by level; padding is zeros. */
export function numberedKeys(length: number): Encryption {
  let leaf = 0;
  let above = Math.max(1, Math.ceil(length / Number(LEAF)));
  return {
    secret(plain, size) {
      const number = decodeSpan(plain) <= LEAF ? leaf++ : above++;
      return { key: keccak256(TEXT.encode(`chunk-key-${number}`)), padding: new Uint8Array(size) };
    },
    obfuscationKey: () => new Uint8Array(32),
  };
}
