/** Pure arithmetic of batches. `node-behaviour.md` 3.2, `data-formats.md` 6. */
import type { Batch, ChainState } from './ports.ts';

/** Every batch of the network has 2^16 buckets. */
export const BUCKET_DEPTH = 16;
/**
 * Counters of an own batch take 4 bytes per bucket: anyone may create a batch for this node, with any bucket depth.
 */
export const BUCKET_DEPTH_MAX = 20;
/** The contract counts depth in 8 bits. */
export const DEPTH_MAX = 255;
/**
 * Newest blocks of the chain whose price changes may be taken back: as many as have to pass before the node gives up
 * a transaction that another one has replaced. With more, it would keep for long what other nodes have dropped.
 */
export const UNSETTLED_BLOCKS = 12;

/** A stamp has 32 bits for the position in its bucket. */
const SLOTS_MAX = 2 ** 32;
/** What the status protocol can carry, and readers of the HTTP API take: 64 bits. */
const COMMITMENT_MAX = 2n ** 64n - 1n;

/** Stamps per bucket, for mutable and immutable batches alike. */
export function slotsPerBucket(batch: { readonly depth: number; readonly bucketDepth: number }): number {
  return Math.min(SLOTS_MAX, 2 ** (batch.depth - batch.bucketDepth));
}

/** What a node tells of the chunks of all batches: anyone may buy a batch that is larger than any network. */
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

/**
 * Seconds until the batch is used up at the current price, rounded down, at most `Number.MAX_SAFE_INTEGER`: readers
 * of JSON take it as a whole number. -1 when nothing is charged.
 */
export function secondsLeft(batch: Pick<Batch, 'value'>, chain: ChainState, blockTimeMs: number): number {
  if (chain.currentPrice === 0n) return -1;
  const left = ((batch.value - chain.totalAmount) * BigInt(blockTimeMs)) / (1000n * chain.currentPrice);
  return Math.min(Number(left), Number.MAX_SAFE_INTEGER);
}

/**
 * The price changes that a reorganisation may take back. Only they let it undo an expiry: without them a batch is
 * used up at the same height on every branch.
 * @param changes states before them @param tailBlocks newest blocks of the chain, which are not read
 */
export function unsettledChanges(
  changes: readonly ChainState[],
  now: ChainState,
  tailBlocks: number,
): ChainState[] {
  return changes.filter(({ block }) => block > now.block - UNSETTLED_BLOCKS + tailBlocks);
}

/** What is paid per chunk up to this height even when newest blocks lose their price changes. Parameters as above. */
export function settledTotal(changes: readonly ChainState[], now: ChainState, tailBlocks: number): bigint {
  return unsettledChanges(changes, now, tailBlocks)
    .map((before) => before.totalAmount + BigInt(now.block - before.block) * before.currentPrice)
    .reduce((least, without) => (without < least ? without : least), now.totalAmount);
}
