/** `node-behaviour.md` 3.2, `data-formats.md` 6. */
import type { Batch, ChainState } from './ports.ts';

export const BUCKET_DEPTH = 16;
/** 4 bytes per bucket; anyone may create a batch for this node. */
export const BUCKET_DEPTH_MAX = 20;
/** 8 bits in the contract. */
export const DEPTH_MAX = 255;
/**
 * Price changes that may be taken back: as many blocks as pass before a replaced transaction is given up. With more, the
 * node would keep what others have dropped.
 */
export const UNSETTLED_BLOCKS = 12;

/** 32 bits of a stamp. */
const SLOTS_MAX = 2 ** 32;
/** 64 bits: the status protocol and API readers. */
const COMMITMENT_MAX = 2n ** 64n - 1n;

/** The same for mutable and immutable batches. */
export function slotsPerBucket(batch: { readonly depth: number; readonly bucketDepth: number }): number {
  return Math.min(SLOTS_MAX, 2 ** (batch.depth - batch.bucketDepth));
}

/** Anyone may buy a batch larger than any network. */
export function toldCommitment(chunks: bigint): bigint {
  return chunks < COMMITMENT_MAX ? chunks : COMMITMENT_MAX;
}

export function batchSize(depth: number): bigint {
  return 1n << BigInt(depth);
}

/** 0 when it fits. Both in chunks. */
export function theoreticalRadius(commitment: bigint, capacity: number): number {
  let radius = 0;
  for (let room = BigInt(capacity); room < commitment; room <<= 1n) radius++;
  return radius;
}

/**
 * At the current price, rounded down, at most `Number.MAX_SAFE_INTEGER`, for readers of JSON. -1 when nothing is charged.
 */
export function secondsLeft(batch: Pick<Batch, 'value'>, chain: ChainState, blockTimeMs: number): number {
  if (chain.currentPrice === 0n) return -1;
  const left = ((batch.value - chain.totalAmount) * BigInt(blockTimeMs)) / (1000n * chain.currentPrice);
  return Math.min(Number(left), Number.MAX_SAFE_INTEGER);
}

/**
 * Those that a reorganisation may take back, and with them an expiry: otherwise a batch is used up at the same height on
 * every branch. @param changes states before them @param tailBlocks not read
 */
export function unsettledChanges(
  changes: readonly ChainState[],
  now: ChainState,
  tailBlocks: number,
): ChainState[] {
  return changes.filter(({ block }) => block > now.block - UNSETTLED_BLOCKS + tailBlocks);
}

/** Paid per chunk even when newest blocks lose their price changes. */
export function settledTotal(changes: readonly ChainState[], now: ChainState, tailBlocks: number): bigint {
  return unsettledChanges(changes, now, tailBlocks)
    .map((before) => before.totalAmount + BigInt(now.block - before.block) * before.currentPrice)
    .reduce((least, without) => (without < least ? without : least), now.totalAmount);
}
