import { type ClusterNode, HarnessError } from 'svcnet';
import {
  defineScenario,
  fromHex,
  grouped,
  parameter,
  proximityOrder,
  type ScenarioContext,
} from 'svcnet/scenario';
import { type FreshChunk, freshChunk, storers } from './steps/presence.ts';
import { batchOf, inTime, ledgerDirect, verifyLedger } from './steps/steps.ts';

const parameters = {
  chunks: parameter(
    'integer',
    300,
    'number of chunks to upload: more than fit into one reserve, and fewer than fit into two',
    {
      min: 1,
    },
  ),
  within: parameter(
    'duration',
    60_000,
    'time within which nodes must evict the chunks outside their radius',
    {
      allowance: true,
    },
  ),
};
type Context = ScenarioContext<typeof parameters>;

/** Before the next look. */
const AT_ONCE = 50;

export default defineScenario({
  name: 'gc',
  group: 'functional',
  tags: ['storage'],
  about:
    'Fills the reserves until the radius grows, then checks that nodes evict only chunks outside it, and no pinned ones.',
  parameters,
  needs: { nodes: 4, started: true },
  cluster: {
    nodes: 4,
    neighbourhoods: ['0', '1'],
    options: { 'reserve-capacity': 200, 'cache-capacity': 10 },
  },
  timeoutMs: 300_000,
  async run(context) {
    const full = storers(context.cluster.nodes);
    const [keeper] = full;
    if (keeper === undefined) throw new HarnessError('NODE_STATE', 'no full node of the cluster runs');
    const pinned = await pin(context, keeper);
    const chunks = await fill(context, full);
    await settled(context, full, [pinned, ...chunks]);
    await pinStays(context, keeper, pinned);
    await verifyLedger(context);
  },
});

/** The farthest from the keeper, which it would drop first. */
function pin(context: Context, keeper: ClusterNode): Promise<FreshChunk> {
  return context.step('pin', async (progress) => {
    const { signal } = context;
    const random = context.random('pinned');
    let chunk = freshChunk(random);
    while (orderOf(keeper, chunk) > 0) chunk = freshChunk(random);
    await keeper.chunks.upload(chunk.data, { batch: batchOf(keeper), signal });
    await keeper.pins.add(chunk.address, signal);
    progress.detail(`${chunk.address.slice(0, 8)} on ${keeper.name}`);
    return chunk;
  });
}

function fill(context: Context, full: readonly ClusterNode[]): Promise<FreshChunk[]> {
  const { chunks: count } = context.parameters;
  return context.step('fill', async (progress) => {
    const { signal } = context;
    const random = context.random('chunks');
    const chunks = Array.from({ length: count }, () => freshChunk(random));
    for (let from = 0; from < count; from += AT_ONCE) {
      const node = full[(from / AT_ONCE) % full.length] as ClusterNode;
      const sent = chunks.slice(from, from + AT_ONCE);
      const requestedAtMs = context.cluster.clock.now();
      const work = () =>
        Promise.all(sent.map(({ data }) => node.chunks.upload(data, { batch: batchOf(node), signal })));
      await context.measure({ operation: 'upload chunks', node: node.name }, work, () => sent.length * 4096);
      for (const { address } of sent) {
        const entry = { kind: 'chunk', reference: address, size: 4096, chunks: [address] } as const;
        await ledgerDirect(context, node, { ...entry, requestedAtMs });
      }
      progress.progress(from + sent.length, count, 'chunks');
    }
    return chunks;
  });
}

function settled(
  context: Context,
  full: readonly ClusterNode[],
  chunks: readonly FreshChunk[],
): Promise<void> {
  return context.step('evict', async (progress) => {
    let radii: number[] = [];
    let released = 0;
    const probe = async (signal: AbortSignal) => {
      const states = await Promise.all(full.map((node) => node.client.status(signal)));
      radii = states.map(({ storageRadius }) => storageRadius);
      if (Math.max(...radii) === 0) return 'every storage radius is 0';
      released = 0;
      const astray: string[] = [];
      for (const [i, node] of full.entries()) {
        for (const chunk of chunks) {
          const belongs = orderOf(node, chunk) >= (radii[i] as number);
          const has = await node.chunks.has(chunk.address, signal);
          if (!belongs && !has) released++;
          if (belongs && !has) astray.push(`${node.name} lacks chunk ${chunk.address}, inside its radius`);
        }
      }
      if (astray.length > 0) return `${astray.length} chunks: ${astray[0]}`;
      return released > 0 ? undefined : 'no node has evicted a chunk';
    };
    const limits = { ...context, timeoutMs: context.parameters.within };
    const missing = await inTime('the reserves have settled', probe, limits);
    context.expect('the storage radius grows when the reserves are full', Math.max(...radii) > 0, {
      observed: radii.join(', '),
      expected: 'above 0',
    });
    context.expect('nodes drop chunks outside their radius and none inside it', missing === undefined, {
      observed: missing ?? `${released} evicted`,
      expected: 'every chunk on each node whose radius takes it in, and some on no other',
    });
    context.figure({ name: 'evicted', value: released, unit: 'chunks' });
    progress.detail(`${grouped(released)} chunks, radii ${radii.join(', ')}`);
  });
}

function pinStays(context: Context, keeper: ClusterNode, { address }: FreshChunk): Promise<void> {
  return context.step('pins', async () => {
    const { signal } = context;
    const has = await keeper.chunks.has(address, signal);
    const listed = await keeper.pins.list(signal);
    context.expect('a pinned chunk stays and is listed', has && listed.includes(address), {
      observed: `${has ? 'there' : 'gone'}, ${listed.includes(address) ? 'listed' : 'not listed'}`,
      expected: 'there, listed',
    });
    await keeper.pins.delete(address, signal);
    const left = await keeper.pins.list(signal);
    context.expect('an unpinned chunk is no longer listed', !left.includes(address), {
      observed: left.length,
      expected: 'not among the pins',
    });
  });
}

function orderOf(node: ClusterNode, { address }: FreshChunk): number {
  return proximityOrder(fromHex(node.overlay), fromHex(address));
}
