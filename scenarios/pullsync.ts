import type { ClusterNode } from 'svcnet';
import { defineScenario, fromHex, parameter, proximityOrder, type ScenarioContext } from 'svcnet/scenario';
import { drawn, freshChunk, holdersOf, neighbourhoodOf, storers } from './steps/presence.ts';
import { batchOf, inTime, ledgerDirect, verifyLedger } from './steps/steps.ts';

const parameters = {
  'chunks-per-node': parameter('integer', 1, 'number of chunks that each node uploads', { min: 1 }),
  'upload-node-count': parameter('integer', 1, 'number of nodes that upload', { min: 1 }),
  'replication-factor-threshold': parameter(
    'integer',
    2,
    'smallest number of nodes that must hold each chunk',
    {
      min: 1,
    },
  ),
};
type Context = ScenarioContext<typeof parameters>;

/** After 2, 4, 6 and 8 seconds, in total. */
const PULLED_WITHIN_MS = 20_000;

export default defineScenario({
  name: 'pullsync',
  group: 'functional',
  tags: ['sync'],
  about: 'Uploads chunks, then finds each on every neighbour of the node closest to it.',
  parameters,
  needs: { nodes: 3 },
  cluster: { nodes: 5, light: 1 },
  timeoutMs: 300_000,
  async run(context) {
    const { 'upload-node-count': count, 'chunks-per-node': each } = context.parameters;
    const full = storers(context.cluster.nodes);
    const copies: number[] = [];
    for (const node of drawn(context, 'uploaders', full, count)) {
      const random = context.random(`chunks of ${node.name}`);
      for (let i = 0; i < each; i++) copies.push(...(await replicate(context, node, freshChunk(random))));
    }
    if (copies.length === 0)
      context.skip('no neighbourhood: no node that is closest to a chunk has a neighbour');
    const average = copies.reduce((sum, one) => sum + one, 0) / copies.length;
    context.figure({ name: 'replication factor', value: average.toFixed(2), unit: 'nodes' });
    await verifyLedger(context);
  },
});

/** @returns number of holders; nothing: the closest node has no neighbours */
function replicate(
  context: Context,
  node: ClusterNode,
  { data, address }: { readonly data: Uint8Array; readonly address: string },
): Promise<number[]> {
  return context.step('pull', async (progress) => {
    const { signal } = context;
    const short = address.slice(0, 8);
    const requestedAtMs = context.cluster.clock.now();
    const work = () => node.chunks.upload(data, { batch: batchOf(node), signal });
    await context.measure({ operation: 'upload chunk', node: node.name }, work, () => data.length);
    const entry = {
      kind: 'chunk',
      reference: address,
      size: 4096,
      chunks: [address],
      requestedAtMs,
    } as const;
    await ledgerDirect(context, node, entry);
    const startedAt = context.cluster.clock.monotonic();
    const full = storers(context.cluster.nodes);
    const { closest } = await neighbourhoodOf(address, full, signal);
    const neighbours = await neighboursOf(closest, address, full, signal);
    if (neighbours.length === 0) return [];
    const probe = async (aborted: AbortSignal) => {
      const holders = await holdersOf(address, neighbours, aborted);
      const lacking = neighbours.filter((one) => !holders.includes(one));
      return lacking.length === 0 ? undefined : `${lacking.map(({ name }) => name).join(', ')} lack it`;
    };
    const missing = await inTime('all neighbours have it', probe, {
      ...context,
      timeoutMs: PULLED_WITHIN_MS,
    });
    context.expect(`every neighbour of ${closest.name} has chunk ${short}`, missing === undefined, {
      observed: missing ?? 'all',
      expected: neighbours.map(({ name }) => name).join(', '),
    });
    if (missing === undefined) {
      const ms = Math.round(context.cluster.clock.monotonic() - startedAt);
      context.figure({ name: 'on every neighbour after', of: short, value: ms, unit: 'ms' });
    }
    const holders = await holdersOf(address, full, signal);
    const least = context.parameters['replication-factor-threshold'];
    context.expect(`chunk ${short} has enough copies`, holders.length >= least, {
      observed: holders.length,
      expected: `at least ${least}`,
    });
    progress.detail(`${short} on ${holders.length} nodes`);
    return [holders.length];
  });
}

/** Peers of the closest node whose own depth includes the chunk. */
async function neighboursOf(
  closest: ClusterNode,
  address: string,
  full: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ClusterNode[]> {
  const { bins } = await closest.client.topology(signal);
  const peers = new Set(
    Object.values(bins).flatMap(({ connectedPeers }) => (connectedPeers ?? []).map((peer) => peer.address)),
  );
  const depths = await Promise.all(
    full.map(async (node) => ({ node, depth: (await node.client.topology(signal)).depth })),
  );
  return depths
    .filter(({ node }) => node !== closest && peers.has(node.overlay))
    .filter(({ node, depth }) => proximityOrder(fromHex(node.overlay), fromHex(address)) >= depth)
    .map(({ node }) => node);
}
