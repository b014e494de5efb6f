import { HarnessError } from '../../base/errors.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { batchAmount } from '../../cluster/plan/definition.ts';
import { buyBatch } from '../../cluster/purchase.ts';
import type { PreparedBatch } from './plan.ts';

const BUCKETS = 2 ** 16;
const BUCKET_DEPTH = 16;
const DEPTH = { min: 20, max: 40 } as const;
/** The contract takes no batch that lasts less than a day. */
const TTL_MIN_MS = 24 * 3_600_000;
const BLOCK_TIME_ASSUMED_MS = 1000;

/** The mean, plus what chance adds in the worst bucket. */
export function fullestBucket(chunks: number): number {
  const mean = chunks / BUCKETS;
  return Math.ceil(mean + 6 * Math.sqrt(mean) + 4);
}

export function depthFor(chunks: number): number {
  const depth = BUCKET_DEPTH + Math.ceil(Math.log2(fullestBucket(chunks)));
  return Math.min(DEPTH.max, Math.max(DEPTH.min, depth));
}

/** @param chunks that it will stamp @throws ClientError, HarnessError when none can be bought */
export async function batchFor(
  cluster: Cluster,
  node: ClusterNode,
  { chunks, durationMs, signal }: { chunks: number; durationMs: number; signal: AbortSignal },
): Promise<PreparedBatch> {
  const own = node.batch;
  if (own !== undefined) {
    const { utilization, depth, usable, batchTTL } = await node.stamps.get(own, signal);
    const free = 2 ** (depth - BUCKET_DEPTH) - utilization;
    const lasts = batchTTL < 0 || batchTTL * 1000 > durationMs;
    if (usable && lasts && free >= fullestBucket(chunks))
      return { node: node.name, id: own, depth, bought: false };
  }
  const depth = depthFor(chunks);
  const amount = batchAmount(TTL_MIN_MS + durationMs, {
    blockTimeMs: cluster.chain.blockTimeMs === 0 ? BLOCK_TIME_ASSUMED_MS : cluster.chain.blockTimeMs,
    storagePrice: (await node.client.chainState(signal)).currentPrice,
  });
  // The testbed's nodes were given enough for their first batch only.
  if (cluster.chain.controlled)
    await cluster.chain.fund(node.ethereum, { tokens: amount * 2n ** BigInt(depth) });
  try {
    const id = await buyBatch(cluster, node, { amount, depth, label: 'load' }, signal);
    return { node: node.name, id, depth, bought: true };
  } catch (error) {
    if (error instanceof HarnessError) throw error;
    throw new HarnessError('LOAD_FAILED', `${node.name} cannot buy a batch of depth ${depth} for the load`, {
      cause: error,
      hint: `${(error as Error).message}\nA smaller load needs a smaller batch; svcnet stamp buys one by hand.`,
    });
  }
}
