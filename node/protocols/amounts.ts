/** Amounts on the wire: minimal big-endian bytes without sign, nothing for zero. `p2p-protocols.md`, notation. */
import { fromHex, toHex } from '../crypto/hex.ts';

/** No amount of ours is longer, bytes. */
const AMOUNT_SIZE_MAX = 32;

/** @param amount not negative */
export function encodeAmount(amount: bigint): Uint8Array {
  if (amount === 0n) return new Uint8Array(0);
  const digits = amount.toString(16);
  return fromHex(digits.length % 2 === 0 ? digits : `0${digits}`);
}

/** Undefined when it is longer than any amount of ours. */
export function decodeAmount(bytes: Uint8Array): bigint | undefined {
  if (bytes.length > AMOUNT_SIZE_MAX) return undefined;
  return bytes.length === 0 ? 0n : BigInt(`0x${toHex(bytes)}`);
}
