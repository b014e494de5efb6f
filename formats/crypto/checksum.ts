/** EIP-55: the mixed case reveals typing errors. Vectors: those of the EIP. */
import { toHex } from './hex.ts';
import { keccak256 } from './keccak.ts';

/**
 * @param address 20 bytes @returns `0x` and 40 hex digits, upper case where the hash of the lower-case digits is 8 or more
 */
export function checksumAddress(address: Uint8Array): string {
  const digits = toHex(address);
  const hash = toHex(keccak256(Buffer.from(digits)));
  const cased = digits.replace(/[a-f]/g, (digit, i: number) =>
    hash.charAt(i) >= '8' ? digit.toUpperCase() : digit,
  );
  return `0x${cased}`;
}
