import type { ReserveEntry } from '../../../node/store/ports.ts';

export function isImmutable(batchId: Uint8Array): boolean {
  return batchId[0] === 3;
}

export function keyOf({ address, batchId, stampHash }: ReserveEntry): string {
  return Buffer.concat([address, batchId, stampHash]).toString('latin1');
}

export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
