/** Pure arithmetic of batches. `node-behaviour.md` 3.2, `data-formats.md` 6. */
import type { Batch, ChainState } from './ports.ts';

/** Every batch of the network has 2^16 buckets. */
export const BUCKET_DEPTH = 16;
/**
 * Counters of an own batch take 4 bytes per bucket: anyone may create a batch for this node, with any bucket
 * depth.
 */
export const BUCKET_DEPTH_MAX = 20;
/** The contract counts depth in 8 bits. */
export const DEPTH_MAX = 255;

/** Stamps per bucket, for mutable and immutable batches alike. */
export function slotsPerBucket(batch: { readonly depth: number; readonly bucketDepth: number }): number {
  return 2 ** (batch.depth - batch.bucketDepth);
}

/** Chunks that a batch was sold for. */
export function batchSize(depth: number): bigint {
  return 1n << BigInt(depth);
}

/** ceil(log2(commitment / capacity)), 0 when it fits. Both in chunks. */
export function theoreticalRadius(commitment: bigint, capacity: number): number {
  let radius = 0;
  for (let room = BigInt(capacity); room < commitment; room <<= 1n) radius++;
  return radius;
}

/** Seconds until the batch is used up at the current price, rounded down; -1 when nothing is charged. */
export function secondsLeft(batch: Pick<Batch, 'value'>, chain: ChainState, blockTimeMs: number): number {
  if (chain.currentPrice === 0n) return -1;
  return Number(((batch.value - chain.totalAmount) * BigInt(blockTimeMs)) / (1000n * chain.currentPrice));
}
