/** Between a node and a thread. Chunks, digests and results lie end to end in one buffer. */

export interface ThreadData {
  /** secp256k1 scalar, 32 bytes. */
  readonly privateKey: Uint8Array;
  /** As many fields as `GATE`, shared. */
  readonly gate: Int32Array<SharedArrayBuffer>;
}

/**
 * Ending a thread inside native code ends the process. So the thread sets `inside` around native calls, and makes none once
 * `closed` is set. `cpuMs`: used so far.
 */
export const GATE = { inside: 0, closed: 1, cpuMs: 2 } as const;

export type ThreadRequest =
  /** @property lengths of the chunks in `bytes` */
  | {
      readonly kind: 'addresses';
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly lengths: readonly number[];
    }
  /** @property bytes digests */
  | { readonly kind: 'sign'; readonly bytes: Uint8Array<ArrayBuffer> };

export type ThreadResponse = Uint8Array<ArrayBuffer>;

export const DIGEST_SIZE = 32;
export const SIGNATURE_SIZE = 65;

/** @returns a buffer of its own, to be handed over without a copy */
export function endToEnd(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** @returns views, `size` bytes each */
export function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: bytes.length / size }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}
