/** Minimal big-endian bytes without sign, nothing for zero. `p2p-protocols.md`, notation. */
import { fromBigEndian, toBigEndian } from '../../formats/crypto/big-endian.ts';

const AMOUNT_SIZE_MAX = 32;

export function encodeAmount(amount: bigint): Uint8Array {
  return toBigEndian(amount);
}

/** Undefined when longer than any valid amount. */
export function decodeAmount(bytes: Uint8Array): bigint | undefined {
  return bytes.length > AMOUNT_SIZE_MAX ? undefined : fromBigEndian(bytes);
}
