import type { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { eventuallyIn, type HttpReply, http } from './kit.ts';

type Asked = Parameters<typeof http>[2];

export async function sent(net: Cluster, node: ClusterNode): Promise<{ mined: number; all: number }> {
  const count = async (state: 'latest' | 'pending') =>
    Number(await net.chain.call<string>('eth_getTransactionCount', [`0x${node.ethereum}`, state]));
  return { mined: await count('latest'), all: await count('pending') };
}

export async function mining(
  net: Cluster,
  node: ClusterNode,
  path: string,
  asked: Asked,
): Promise<HttpReply> {
  let answered = false;
  const answer = http(node, path, asked).finally(() => {
    answered = true;
  });
  await eventuallyIn(() => net)(`${path} is not answered`, async () => {
    if (answered) return undefined;
    const { mined, all } = await sent(net, node);
    if (all > mined) await net.chain.mine();
    return 'its transactions are not mined';
  });
  return answer;
}

export async function usableBatch(
  net: Cluster,
  node: ClusterNode,
  terms: { amount: bigint; depth: number; immutable?: boolean; label?: string; blocks: number },
): Promise<string> {
  const { amount, depth, immutable = true, label = '', blocks } = terms;
  const seen = await mining(net, node, `/stamps/${amount}/${depth}?label=${label}`, {
    method: 'POST',
    headers: { immutable: String(immutable) },
  });
  if (seen.status !== 201) throw new Error(`the batch is not bought: ${JSON.stringify(seen.json)}`);
  await net.chain.mine(blocks);
  await caughtUp(net, [node]);
  return seen.json['batchID'] as string;
}

export async function caughtUp(net: Cluster, nodes: readonly ClusterNode[] = net.nodes): Promise<void> {
  const height = await net.chain.height();
  await eventuallyIn(() => net)('the nodes are behind the chain', async () => {
    const running = nodes.filter((node) => node.running);
    const blocks = await Promise.all(running.map(async ({ client }) => (await client.chainState()).block));
    return blocks.every((block) => block === height)
      ? undefined
      : `they have read ${blocks.join(', ')} of ${height}`;
  });
}

/** Mines until the node has read it. */
export async function setPrice(net: Cluster, node: ClusterNode, price: bigint): Promise<void> {
  const setting = net.chain.setStoragePrice(price);
  await eventuallyIn(() => net)('the price is not set', async () => {
    const { currentPrice } = await node.client.chainState();
    if (currentPrice === price) return undefined;
    await net.chain.mine();
    return `it is ${currentPrice}`;
  });
  await setting;
}
