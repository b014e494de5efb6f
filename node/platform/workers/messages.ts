/** What a node and one of its threads send each other. Chunks, digests and results lie end to end in one buffer. */

/** Of a node for one of its threads. */
export interface ThreadData {
  /** secp256k1 scalar, 32 bytes. */
  readonly privateKey: Uint8Array;
  /** As long as `GATE` has fields, shared. */
  readonly gate: Int32Array<SharedArrayBuffer>;
}

/**
 * A thread that is ended inside native code takes the whole process with it. The thread therefore sets `inside`
 * around native calls, and makes none once `closed` is set. `cpuMs`: what it has used so far.
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

/** One result per chunk or digest, in the order of the requests. */
export type ThreadResponse = Uint8Array<ArrayBuffer>;

export const DIGEST_SIZE = 32;
export const SIGNATURE_SIZE = 65;

/** @param parts of any length @returns a buffer of its own, so that it can be handed over without a copy */
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
