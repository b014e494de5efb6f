/** Only the first four bytes are compared; equal ones count as 31. */
export const MAX_PO = 31;
export const BINS = MAX_PO + 1;

/**
 * Shared leading bits, capped at MAX_PO. Vectors: test/vectors/keys-and-cheques.json.
 * @param a,b 32 bytes each @returns 0..31; 31 also for equal addresses
 */
export function proximityOrder(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < 4; i++) {
    const xor = a[i]! ^ b[i]!;
    if (xor !== 0) return i * 8 + Math.clz32(xor) - 24;
  }
  return MAX_PO;
}

/**
 * Distance is XOR read as a big-endian number.
 * @param target,a,b 32 bytes each @returns below 0 when `a` is closer, above 0 when `b` is, 0 when they are equal
 */
export function closerTo(target: Uint8Array, a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < target.length; i++) {
    const byDistance = (a[i]! ^ target[i]!) - (b[i]! ^ target[i]!);
    if (byDistance !== 0) return byDistance;
  }
  return 0;
}

export function isResponsible(overlay: Uint8Array, address: Uint8Array, storageRadius: number): boolean {
  return proximityOrder(overlay, address) >= storageRadius;
}

/** @param length bits, at most those of the address @returns text of `0` and `1` */
export function addressPrefix(address: Uint8Array, length: number): string {
  let bits = '';
  for (let i = 0; i < length; i++) bits += (address[i >> 3]! >> (7 - (i & 7))) & 1;
  return bits;
}
