/** Which threshold is acceptable. Pure. `p2p-protocols.md` 4.3 and 5.2. */
import { fromHex, toHex } from '../../crypto/hex.ts';

/** A light node pays and is paid a tenth. */
const LIGHT_FACTOR = 10n;
/** Less than two seconds' worth of refreshment can not be settled by time. */
const MINIMUM_SECONDS = 2n;

/** Smallest threshold that a node accepts. @param refreshRate of a full node, accounting units per second */
export function minimumThreshold(refreshRate: bigint, fullNode: boolean): bigint {
  return (MINIMUM_SECONDS * refreshRate) / (fullNode ? 1n : LIGHT_FACTOR);
}

/** @param amount not negative */
export function encodeAmount(amount: bigint): Uint8Array {
  if (amount === 0n) return new Uint8Array(0);
  const digits = amount.toString(16);
  return fromHex(digits.length % 2 === 0 ? digits : `0${digits}`);
}

/** Undefined when it is longer than any amount of ours: 32 bytes. */
export function decodeAmount(bytes: Uint8Array): bigint | undefined {
  if (bytes.length > 32) return undefined;
  return bytes.length === 0 ? 0n : BigInt(`0x${toHex(bytes)}`);
}
