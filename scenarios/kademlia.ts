import type { ClusterNode, Topology } from 'svcnet';
import { defineScenario, fromHex, parameter, proximityOrder, type ScenarioContext } from 'svcnet/scenario';
import { expectRules, WITHIN, wrongOn } from './steps/topology.ts';

/** Such a bin wants no more peers (p2p-protocols.md 6.1). */
const SATURATED = 8;

const parameters = {
  dynamic: parameter('boolean', false, 'compare with all nodes of the cluster, even while nodes come and go'),
  ...WITHIN,
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'kademlia',
  group: 'functional',
  tags: ['connectivity'],
  about: 'Checks the routing tables: no bin below the depth is empty, and every neighbour is connected.',
  parameters,
  needs: { nodes: 2 },
  // With radius 0 there is no bin below the depth.
  cluster: { nodes: 6, options: { 'minimum-storage-radius': 1 } },
  timeoutMs: 300_000,
  async run(context) {
    const { nodes } = context.cluster;
    const rule = (
      name: string,
      expected: string,
      wrong: (table: Topology, node: ClusterNode) => readonly string[],
    ) => ({
      name,
      expected,
      wrong: (signal: AbortSignal) =>
        wrongOn(servers(nodes), async (node) => wrong(await node.client.topology(signal), node)),
    });
    const filled = rule('no bin below the depth is empty', 'a connected peer in each', (table, node) =>
      emptyBins(table, node, nodes),
    );
    const connected = rule('every known neighbour is connected', 'none that is not', (table) =>
      strayNeighbours(table),
    );
    const complete = rule('every neighbour of the cluster is connected', 'all of them', (table, node) =>
      missingNeighbours(table, node, nodes),
    );
    await expectRules(context, context.parameters.dynamic ? [filled, complete] : [filled, connected]);
    await depths(context);
  },
});

function servers(nodes: readonly ClusterNode[]): ClusterNode[] {
  return nodes.filter((node) => node.running && node.mode === 'full');
}

function binOf(table: Topology, order: number): Topology['bins'][string] | undefined {
  return table.bins[`bin_${order}`];
}

function orderOf(a: ClusterNode, b: ClusterNode): number {
  return proximityOrder(fromHex(a.overlay), fromHex(b.overlay));
}

/** The cluster has a node for them, and the table none. */
function emptyBins(table: Topology, node: ClusterNode, nodes: readonly ClusterNode[]): string[] {
  const orders = new Set(
    servers(nodes)
      .filter((other) => other !== node)
      .map((other) => orderOf(node, other)),
  );
  return [...orders]
    .filter((order) => order < table.depth && (binOf(table, order)?.connected ?? 0) === 0)
    .map((order) => `has nobody in bin ${order} of depth ${table.depth}`);
}

function strayNeighbours(table: Topology): string[] {
  return Object.entries(table.bins).flatMap(([bin, { connected, disconnectedPeers }]) => {
    if (Number(bin.replace('bin_', '')) < table.depth || connected >= SATURATED) return [];
    return (disconnectedPeers ?? []).map(({ address }) => `is not connected to ${address} of ${bin}`);
  });
}

function missingNeighbours(table: Topology, node: ClusterNode, nodes: readonly ClusterNode[]): string[] {
  return servers(nodes)
    .filter((other) => other !== node && orderOf(node, other) >= table.depth)
    .filter((other) => {
      const bin = binOf(table, orderOf(node, other));
      if ((bin?.connected ?? 0) >= SATURATED) return false;
      return !(bin?.connectedPeers ?? []).some(({ address }) => address === other.overlay);
    })
    .map((other) => `is not connected to ${other.name}, ${other.overlay}`);
}

/** Without a depth a table has no bin to fill: the first condition says nothing about it. */
async function depths(context: Context): Promise<void> {
  const nodes = servers(context.cluster.nodes);
  const tables = await Promise.all(nodes.map((node) => node.client.topology(context.signal)));
  for (const [i, { depth, population, connected }] of tables.entries()) {
    const of = nodes[i]?.name ?? '';
    context.figure({ name: 'depth', of, value: depth, unit: 'bits' });
    context.figure({ name: 'known', of, value: population, unit: 'peers' });
    context.figure({ name: 'connected', of, value: connected, unit: 'peers' });
  }
  const without = tables.filter(({ depth }) => depth === 0).length;
  if (without === tables.length) {
    context.unchecked('bins below the depth: the storage radius is 0, so every node is a neighbour of all');
    return;
  }
  context.expect('every routing table has a depth', without === 0, {
    observed: `${without} of ${tables.length} have none`,
    expected: 'a depth above 0',
  });
}
