import { HarnessError } from '../base/errors.ts';
import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { plainHex } from '../client/json.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { batchAmount } from '../cluster/plan/definition.ts';
import {
  type BatchRequest,
  createBatchFor,
  type ForeignBatchRequest,
  whileMining,
} from '../cluster/purchase.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';
import { workingNode } from './working-nodes.ts';

export interface StampFlags extends ClusterFlags {
  readonly depth: number;
  readonly ttl: number;
  readonly amount?: bigint;
  readonly label?: string;
  /** Node or address, 40 hex digits, that will own the batch, which no node then buys. */
  readonly owner?: string;
  readonly mutable?: boolean;
  readonly wait: boolean;
}

export async function stamp(
  nodeName: string | undefined,
  flags: StampFlags,
  context: CommandContext,
): Promise<void> {
  if (flags.owner !== undefined && (nodeName !== undefined || flags.label !== undefined)) {
    const other =
      nodeName === undefined ? '--label: only nodes keep labels' : `'${nodeName}': names a node that buys`;
    throw new HarnessError('USAGE', `${other}, but with --owner the testbed buys the batch for an account`);
  }
  await onCluster(flags, context, async (cluster) => {
    const startedAt = MACHINE_CLOCK.monotonic();
    const amount = flags.amount ?? batchAmount(flags.ttl, await termsOf(cluster));
    const request = { amount, depth: flags.depth, immutable: flags.mutable !== true };
    const label = flags.label === undefined ? {} : { label: flags.label };
    const { whose, batchID, txHash } = await whileMining(cluster, context.signal, async (signal) => {
      const bought =
        flags.owner === undefined
          ? await boughtBy(cluster, nodeName, { ...request, ...label }, signal)
          : await boughtFor(cluster, flags.owner, request, signal);
      const limits = bought.buyer === undefined ? {} : { buyer: bought.buyer };
      if (flags.wait) await cluster.usable(bought.batchID, { signal, ...limits });
      return bought;
    });
    const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
    const document = {
      name: cluster.name,
      ...whose,
      id: batchID,
      depth: flags.depth,
      amount: amount.toString(),
      txHash,
      usable: flags.wait,
      durationMs,
    };
    answer(context, document, [
      `  batch    ${batchID}`,
      ...Object.entries(whose).map(([role, who]) => `  ${role.padEnd(8)} ${who}`),
      `  depth    ${flags.depth}`,
      `  ${flags.wait ? 'usable' : 'mined'} in ${formatMs(durationMs)}`,
    ]);
  });
}

interface PurchasedBatch {
  readonly whose: { readonly node?: string; readonly owner?: string };
  /** Name of the node that owns it. */
  readonly buyer?: string;
  readonly batchID: string;
  readonly txHash: string;
}

async function boughtBy(
  cluster: Cluster,
  nodeName: string | undefined,
  request: BatchRequest,
  signal: AbortSignal,
): Promise<PurchasedBatch> {
  const node = workingNode(cluster, nodeName);
  const bought = await node.stamps.buy(request, signal);
  if (node.batch === undefined) {
    await cluster.adopt({ id: bought.batchID, node: node.name, depth: request.depth });
  }
  return { whose: { node: node.name }, buyer: node.name, ...bought };
}

async function boughtFor(
  cluster: Cluster,
  who: string,
  request: Omit<ForeignBatchRequest, 'owner'>,
  signal: AbortSignal,
): Promise<PurchasedBatch> {
  const isAddress = /^(0x)?[0-9a-fA-F]{40}$/.test(who);
  if (!isAddress && /^0x/i.test(who)) {
    throw new HarnessError('USAGE', `--owner: got '${who}', expected a node or an address of 40 hex digits`);
  }
  const owner = `0x${plainHex(isAddress ? who : cluster.node(who).ethereum)}`;
  return { whose: { owner }, ...(await createBatchFor(cluster, { ...request, owner }, signal)) };
}

/** A node knows the price of an attached network. */
async function termsOf(cluster: Cluster): Promise<Parameters<typeof batchAmount>[1]> {
  const { chain, driver } = cluster;
  if (DRIVER_FACTS[driver].owned) return chain.batchTerms();
  if (chain.rpc === '') {
    throw new HarnessError('NODE_STATE', `cannot buy a batch: the nodes of '${cluster.name}' have no chain`);
  }
  if (chain.blockTimeMs === 0) {
    throw new HarnessError(
      'USAGE',
      '--ttl: the chain mines on demand, so a batch has no time to live; use --amount',
    );
  }
  const node = workingNode(cluster);
  const { currentPrice } = await node.client.chainState();
  return { blockTimeMs: chain.blockTimeMs, storagePrice: currentPrice };
}
