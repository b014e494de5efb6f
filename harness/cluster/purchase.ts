/**
 * Buying a batch over a node's API without waiting for the clock: blocks are mined as long as the purchase needs them,
 * unless the chain is steady.
 */

import type { ClusterNode } from '../nodes/cluster-node.ts';
import type { Cluster } from './cluster.ts';

/** One block per pause: two transactions of a purchase then take a few of them, not seconds. */
const MINE_PAUSE_MS = 40;

export interface BatchRequest {
  /** Per chunk. */
  readonly amount: bigint;
  readonly depth: number;
  readonly label?: string;
  readonly immutable?: boolean;
}

/** @returns id of a batch that its node may stamp with and every running node knows @throws ClientError, HarnessError */
export async function buyBatch(
  cluster: Cluster,
  node: ClusterNode,
  request: BatchRequest,
  signal: AbortSignal,
): Promise<string> {
  const bought = new AbortController();
  const mining = mineUntil(cluster, AbortSignal.any([signal, bought.signal]));
  try {
    const { batchID } = await node.stamps.buy(request, signal);
    await cluster.usable(batchID, { signal, buyer: node.name });
    return batchID;
  } finally {
    bought.abort();
    await mining;
  }
}

async function mineUntil(cluster: Cluster, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !cluster.chain.steady) {
    await cluster.chain.mine();
    await new Promise((resolve) => setTimeout(resolve, MINE_PAUSE_MS));
  }
}
