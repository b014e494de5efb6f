/** Amounts on the wire: minimal big-endian bytes without sign, nothing for zero. `p2p-protocols.md`, notation. */
import { fromBigEndian, toBigEndian } from '../../formats/crypto/big-endian.ts';

/** No amount that this node handles is longer, bytes. */
const AMOUNT_SIZE_MAX = 32;

/** @param amount not negative */
export function encodeAmount(amount: bigint): Uint8Array {
  return toBigEndian(amount);
}

/** Undefined when it is longer than any valid amount. */
export function decodeAmount(bytes: Uint8Array): bigint | undefined {
  return bytes.length > AMOUNT_SIZE_MAX ? undefined : fromBigEndian(bytes);
}
