import { ClientError, type ClusterNode, HarnessError } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { drawn, type FreshChunk, freshChunk, holdersOf, neighbourhoodOf, storers } from './steps/presence.ts';
import { batchOf, inTime, ledgerDirect, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  mode: parameter('text', 'default', 'who uploads: any node, full nodes, or light nodes', {
    oneOf: ['default', 'chunks', 'light-chunks'],
  }),
  'chunks-per-node': parameter('integer', 1, 'number of chunks that each node uploads', { min: 1 }),
  'upload-node-count': parameter('integer', 1, 'number of nodes that upload', { min: 1 }),
  retries: parameter('integer', 5, 'attempts to find a chunk on the closest node', {
    min: 1,
    allowance: true,
  }),
  'retry-delay': parameter('duration', 1000, 'pause between attempts', { allowance: true }),
  // In a busy crowd a node may hear of a chunk only after ten seconds.
  'sync-within': parameter(
    'duration',
    20_000,
    'time within which another node in the neighbourhood must have the chunk',
    {
      min: 1,
      allowance: true,
    },
  ),
};
type Context = ScenarioContext<typeof parameters>;

/** It may have to pay before the next attempt. */
const LIGHT_ATTEMPTS = 3;

export default defineScenario({
  name: 'pushsync',
  group: 'functional',
  tags: ['sync'],
  about: 'Uploads chunks, then finds each on the node closest to it and on one more in its neighbourhood.',
  parameters,
  needs: { nodes: 3 },
  cluster: { nodes: 5, light: 1 },
  timeoutMs: 300_000,
  async run(context) {
    const { mode, 'upload-node-count': count, 'chunks-per-node': each } = context.parameters;
    const wanted = { default: undefined, chunks: 'full', 'light-chunks': 'light' }[mode];
    const able = workingNodes(context.cluster.nodes).filter(
      (node) => wanted === undefined || node.mode === wanted,
    );
    if (able.length === 0) context.skip(`mode ${mode} needs a ${wanted} node that uploads`);
    for (const node of drawn(context, 'uploaders', able, count)) {
      const random = context.random(`chunks of ${node.name}`);
      for (let i = 0; i < each; i++) await push(context, node, freshChunk(random));
    }
    await verifyLedger(context);
  },
});

function push(context: Context, node: ClusterNode, chunk: FreshChunk): Promise<void> {
  return context.step('push', async (progress) => {
    const { signal } = context;
    const { address } = chunk;
    const short = address.slice(0, 8);
    const startedAt = context.cluster.clock.monotonic();
    await upload(context, node, chunk);
    const full = storers(context.cluster.nodes);
    const { closest, nodes } = await neighbourhoodOf(address, full, signal);
    progress.detail(`${short} from ${node.name} to ${closest.name}`);
    const found = await onClosest(context, closest, address);
    context.expect(`chunk ${short} reaches the node closest to it`, found, {
      observed: found ? closest.name : `not on ${closest.name}`,
      expected: `${closest.name}, within ${context.parameters.retries} looks`,
    });
    const ms = Math.round(context.cluster.clock.monotonic() - startedAt);
    if (found) context.figure({ name: 'push to the closest node', of: short, value: ms, unit: 'ms' });
    const others = nodes.filter((other) => other !== closest && other !== node);
    if (context.parameters.mode === 'default' || others.length === 0) return;
    const probe = async (aborted: AbortSignal) =>
      (await holdersOf(address, others, aborted)).length > 0 ? undefined : 'none has it';
    const { 'sync-within': timeoutMs } = context.parameters;
    const missing = await inTime('another node has it', probe, { ...context, timeoutMs });
    context.expect(`chunk ${short} is on another node of its neighbourhood`, missing === undefined, {
      observed: missing ?? 'found',
      expected: `one of ${others.map(({ name }) => name).join(', ')}`,
    });
    const replicas = await holdersOf(address, full, signal);
    context.figure({ name: 'copies', of: short, value: replicas.length, unit: 'nodes' });
  });
}

async function upload(context: Context, node: ClusterNode, { data, address }: FreshChunk): Promise<void> {
  const requestedAtMs = context.cluster.clock.now();
  const attempts = context.parameters.mode === 'light-chunks' ? LIGHT_ATTEMPTS : 1;
  for (let attempt = 1; ; attempt++) {
    try {
      const options = { batch: batchOf(node), signal: context.signal };
      const work = () => node.chunks.upload(data, options);
      const { reference } = await context.measure(
        { operation: 'upload chunk', node: node.name },
        work,
        () => 4096,
      );
      if (reference !== address)
        throw new HarnessError('NODE_STATE', `${node.name} calls chunk ${address} ${reference}`);
      break;
    } catch (error) {
      if (!(error instanceof ClientError) || attempt === attempts || context.signal.aborted) throw error;
      await context.cluster.clock.sleep(context.parameters['retry-delay'], context.signal);
    }
  }
  const entry = { kind: 'chunk', reference: address, size: 4096, chunks: [address], requestedAtMs } as const;
  await ledgerDirect(context, node, entry);
}

async function onClosest(context: Context, closest: ClusterNode, address: string): Promise<boolean> {
  const { retries, 'retry-delay': delay } = context.parameters;
  for (let attempt = 1; attempt <= retries; attempt++) {
    if (await closest.chunks.has(address, context.signal)) return true;
    if (attempt < retries) await context.cluster.clock.sleep(delay, context.signal);
  }
  return false;
}
