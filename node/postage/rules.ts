/** Pure arithmetic of batches. `node-behaviour.md` 3.2, `data-formats.md` 6. */
import type { Batch, ChainState } from './ports.ts';

/** Every batch of the network has 2^16 buckets. */
export const BUCKET_DEPTH = 16;
/** Own counters take 4 bytes per bucket, and anyone may create a batch for this node. */
export const BUCKET_DEPTH_MAX = 20;
/** The contract counts depth in 8 bits. */
export const DEPTH_MAX = 255;
/**
 * Newest blocks whose price changes may be undone: as many as until a replaced transaction is given up. More would
 * keep what others dropped.
 */
export const UNSETTLED_BLOCKS = 12;

/** A stamp has 32 bits for its position. */
const SLOTS_MAX = 2 ** 32;
/** 64 bits: the status protocol's and API readers' limit. */
const COMMITMENT_MAX = 2n ** 64n - 1n;

/** Stamps per bucket, for mutable and immutable batches alike. */
export function slotsPerBucket(batch: { readonly depth: number; readonly bucketDepth: number }): number {
  return Math.min(SLOTS_MAX, 2 ** (batch.depth - batch.bucketDepth));
}

/** Anyone may buy a batch larger than any network. */
export function toldCommitment(chunks: bigint): bigint {
  return chunks < COMMITMENT_MAX ? chunks : COMMITMENT_MAX;
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

/** Seconds until used up, rounded down, at most `Number.MAX_SAFE_INTEGER`. -1: nothing is charged. */
export function secondsLeft(batch: Pick<Batch, 'value'>, chain: ChainState, blockTimeMs: number): number {
  if (chain.currentPrice === 0n) return -1;
  const left = ((batch.value - chain.totalAmount) * BigInt(blockTimeMs)) / (1000n * chain.currentPrice);
  return Math.min(Number(left), Number.MAX_SAFE_INTEGER);
}

/**
 * Price changes that a reorganisation may undo; without them a batch expires at the same height everywhere.
 * @param changes states before them @param tailBlocks newest blocks, not read
 */
export function unsettledChanges(
  changes: readonly ChainState[],
  now: ChainState,
  tailBlocks: number,
): ChainState[] {
  return changes.filter(({ block }) => block > now.block - UNSETTLED_BLOCKS + tailBlocks);
}

/** Paid per chunk even if newest price changes are lost. Parameters as above. */
export function settledTotal(changes: readonly ChainState[], now: ChainState, tailBlocks: number): bigint {
  return unsettledChanges(changes, now, tailBlocks)
    .map((before) => before.totalAmount + BigInt(now.block - before.block) * before.currentPrice)
    .reduce((least, without) => (without < least ? without : least), now.totalAmount);
}
