/** Whole numbers as bytes, the most significant one first. */
import { fromHex, toHex } from './hex.ts';

/** As few bytes as possible, none for zero. @throws RangeError below zero: the digits of one would be read as none */
export function toBigEndian(value: bigint): Uint8Array {
  if (value < 0n) throw new RangeError(`a number without sign is not negative, got ${value}`);
  if (value === 0n) return new Uint8Array(0);
  const digits = value.toString(16);
  return fromHex(digits.length % 2 === 0 ? digits : `0${digits}`);
}

/** @param bytes any number of them; none are zero */
export function fromBigEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x0${toHex(bytes)}`);
}
