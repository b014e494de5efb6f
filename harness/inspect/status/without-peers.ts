import { allAtMost } from '../../base/wait.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { ANSWER_LIMIT_MS, NODES_AT_ONCE, replyOf, valueOr } from './ask.ts';

/** Running nodes that answer and say so; none in a network of one node. Takes about one request's limit. */
export async function nodesWithoutPeers(
  nodes: readonly ClusterNode[],
  interruption: AbortSignal,
): Promise<ClusterNode[]> {
  if (nodes.length < 2) return [];
  const running = nodes.filter(({ state }) => state === 'running');
  const questions = running.map((node) => async () => {
    const { client } = node;
    using limit = client.clock.deadline(ANSWER_LIMIT_MS, interruption);
    const peers = valueOr(await replyOf(client.peers(limit.signal)), undefined);
    return peers?.length === 0 ? [node] : [];
  });
  return (await allAtMost(NODES_AT_ONCE, questions)).flat();
}
