/** Encoding only: the form of a transaction before it is signed. Ethereum yellow paper, appendix B. */
import { toBigEndian } from '../crypto/big-endian.ts';

export type RlpItem = Uint8Array | bigint | readonly RlpItem[];

/** Below this a single byte stands for itself; above it short and long forms start. */
const STRING_BASE = 0x80;
const LIST_BASE = 0xc0;
const SHORT_LENGTH_MAX = 55;

/** Numbers become big-endian bytes without leading zeros; zero becomes the empty string. @throws RangeError below zero */
export function encodeRlp(item: RlpItem): Uint8Array {
  if (typeof item === 'bigint') return encodeRlp(toBigEndian(item));
  if (item instanceof Uint8Array) {
    if (item.length === 1 && item[0]! < STRING_BASE) return item;
    return Buffer.concat([prefix(STRING_BASE, item.length), item]);
  }
  const body = Buffer.concat(item.map((part) => encodeRlp(part)));
  return Buffer.concat([prefix(LIST_BASE, body.length), body]);
}

function prefix(base: number, length: number): Uint8Array {
  if (length <= SHORT_LENGTH_MAX) return Uint8Array.of(base + length);
  const lengthBytes = toBigEndian(BigInt(length));
  return Uint8Array.of(base + SHORT_LENGTH_MAX + lengthBytes.length, ...lengthBytes);
}
