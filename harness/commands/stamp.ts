/** `svcnet stamp NODE`: buy a batch through a node, and wait until it is usable. */

import { HarnessError } from '../base/errors.ts';
import { formatMs } from '../base/words.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { batchAmount } from '../plan/definition.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { workingNodes } from './working-nodes.ts';

export interface StampFlags extends ClusterFlags {
  readonly depth: number;
  readonly ttl: number;
  readonly amount?: bigint;
  readonly label?: string;
  readonly mutable?: boolean;
  readonly wait: boolean;
}

/** @param nodeName absent: the first node that can buy */
export async function stamp(
  nodeName: string | undefined,
  flags: StampFlags,
  context: CommandContext,
): Promise<void> {
  const cluster = await Cluster.attach(flags.name, { stateDir: context.stateDir });
  const node = cluster.node(nodeName ?? workingNodes(cluster)[0]?.name ?? 0);
  const startedAt = performance.now();
  const amount = flags.amount ?? (await amountFor(flags.ttl, cluster, node));
  const { batchID, txHash } = await node.stamps.buy(
    {
      amount,
      depth: flags.depth,
      immutable: flags.mutable !== true,
      ...(flags.label === undefined ? {} : { label: flags.label }),
    },
    context.signal,
  );
  if (node.batch === undefined) cluster.adopt({ id: batchID, node: node.name, depth: flags.depth });
  if (flags.wait) await cluster.usable(batchID, { signal: context.signal, buyer: node.name });
  const durationMs = Math.round(performance.now() - startedAt);
  const document = {
    name: cluster.name,
    node: node.name,
    id: batchID,
    depth: flags.depth,
    amount: amount.toString(),
    txHash,
    usable: flags.wait,
    durationMs,
  };
  answer(context, document, [
    `  batch    ${batchID}`,
    `  node     ${node.name}`,
    `  depth    ${flags.depth}`,
    `  ${flags.wait ? 'usable' : 'mined'} in ${formatMs(durationMs)}`,
  ]);
  await cluster.detach();
}

/** Of a network that svcnet has not started, the node knows the price. */
async function amountFor(ttlMs: number, { chain, driver }: Cluster, node: ClusterNode): Promise<bigint> {
  if (driver !== 'attached') return batchAmount(ttlMs, chain.blockTimeMs);
  if (chain.blockTimeMs === 0) {
    throw new HarnessError(
      'USAGE',
      '--ttl: the chain mines on demand, so that nothing lasts for a time; use --amount',
    );
  }
  const { currentPrice } = await node.client.chainState();
  return batchAmount(ttlMs, chain.blockTimeMs, currentPrice);
}
