import type { ClusterNode } from 'svcnet';
import { defineScenario } from 'svcnet/scenario';
import { expectRules, WITHIN, wrongOn } from './steps/topology.ts';

/** More nodes fill their bins: the mesh is then not full. */
const NODES_MAX = 9;

export default defineScenario({
  name: 'full-connectivity',
  group: 'functional',
  tags: ['connectivity'],
  about: `Checks that all nodes of a small cluster are connected to each other, and to no others.`,
  parameters: WITHIN,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 300_000,
  async run(context) {
    const { nodes } = context.cluster;
    const full = nodes.filter((node) => node.running && node.mode === 'full');
    if (full.length > NODES_MAX)
      context.skip(`of ${full.length} full nodes not all have to be connected: at most ${NODES_MAX}`);
    const known = new Set(nodes.map(({ overlay }) => overlay));
    await expectRules(context, [
      {
        name: 'every node is connected to those that it needs',
        expected: 'a full node to all full nodes, a boot node to all nodes, a light node to one',
        wrong: (signal) =>
          wrongOn(nodes, async (node) => {
            const peers = await node.client.peers(signal);
            const least = leastPeers(node, nodes);
            return peers.length >= least ? [] : [`has ${peers.length} peers, expected ${least}`];
          }),
      },
      {
        name: 'no node has a peer outside the cluster',
        expected: 'peers of the cluster',
        wrong: (signal) =>
          wrongOn(nodes, async (node) => {
            const strange = (await node.client.peers(signal)).filter(({ address }) => !known.has(address));
            return strange.map(({ address }) => `is connected to ${address}`);
          }),
      },
    ]);
  },
});

function leastPeers({ mode }: ClusterNode, nodes: readonly ClusterNode[]): number {
  const running = nodes.filter((node) => node.running);
  if (mode === 'boot') return running.length - 1;
  return mode === 'full' ? running.filter((node) => node.mode === 'full').length - 1 : 1;
}
