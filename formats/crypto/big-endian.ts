import { fromHex, toHex } from './hex.ts';

/** As few bytes as possible, none for zero. @throws RangeError below zero */
export function toBigEndian(value: bigint): Uint8Array {
  if (value < 0n) throw new RangeError(`a number without sign is not negative, got ${value}`);
  if (value === 0n) return new Uint8Array(0);
  const digits = value.toString(16);
  return fromHex(digits.length % 2 === 0 ? digits : `0${digits}`);
}

export function fromBigEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x0${toHex(bytes)}`);
}
