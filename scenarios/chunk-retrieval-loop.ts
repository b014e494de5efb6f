import { ClientError, type ClusterNode } from 'svcnet';
import { defineScenario, messageOf, parameter, type ScenarioContext } from 'svcnet/scenario';
import { drawn, type FreshChunk, freshChunk, storers } from './steps/presence.ts';
import { batchOf, difference, inTime, otherNodes, verifyLedger } from './steps/steps.ts';

const parameters = {
  'chunks-per-node': parameter('integer', 1, 'chunks that each node uploads per round', { min: 1 }),
  'upload-node-count': parameter('integer', 1, 'number of nodes that upload', { min: 1 }),
  'upload-delay': parameter('duration', 0, 'pause after each chunk'),
  rounds: parameter('integer', 5, 'number of rounds of uploads and downloads', { min: 1 }),
  'min-rate': parameter(
    'number',
    1,
    'smallest share of chunks that must be synced, and downloaded unchanged',
  ),
};
type Context = ScenarioContext<typeof parameters>;

/** For its receipt. */
const SYNCED_WITHIN_MS = 60_000;

interface Counts {
  uploaded: number;
  synced: number;
  retrieved: number;
  readonly problems: string[];
}

export default defineScenario({
  name: 'chunk-retrieval-loop',
  group: 'load',
  about: 'Uploads individual chunks, waits until each is synced, and downloads it from a random node.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 3_600_000,
  async run(context) {
    const { rounds, 'upload-node-count': count, 'chunks-per-node': each } = context.parameters;
    const uploaders = drawn(context, 'uploaders', storers(context.cluster.nodes), count);
    const counts: Counts = { uploaded: 0, synced: 0, retrieved: 0, problems: [] };
    const total = rounds * uploaders.length * each;
    await context.step('loop', async (progress) => {
      for (let n = 0; n < total; n++) {
        const node = uploaders[n % uploaders.length] as ClusterNode;
        await once(context, node, n, counts);
        progress.progress(n + 1, total, 'chunks');
        await context.cluster.clock.sleep(context.parameters['upload-delay'], context.signal);
      }
    });
    conclude(context, counts, total);
    await verifyLedger(context);
  },
});

async function once(context: Context, node: ClusterNode, n: number, counts: Counts): Promise<void> {
  const random = context.random(`chunk ${n}`);
  const chunk = freshChunk(random);
  const others = otherNodes(context.cluster.nodes, node);
  const reader = others[random.below(others.length)] as ClusterNode;
  try {
    const missing = await upload(context, node, chunk, counts);
    if (missing !== undefined) counts.problems.push(`chunk ${chunk.address} of ${node.name}: ${missing}`);
    const work = () => reader.chunks.download(chunk.address, { cache: false, signal: context.signal });
    const key = { operation: 'download chunk', node: reader.name };
    const part = difference(await context.measure(key, work, ({ length }) => length), chunk.data);
    if (part === undefined) counts.retrieved++;
    else counts.problems.push(`chunk ${chunk.address} from ${reader.name}: ${part}`);
  } catch (error) {
    if (!(error instanceof ClientError) || context.signal.aborted) throw error;
    counts.problems.push(`chunk ${chunk.address} of ${node.name}: ${messageOf(error)}`);
  }
}

async function upload(
  context: Context,
  node: ClusterNode,
  { data, address }: FreshChunk,
  counts: Counts,
): Promise<string | undefined> {
  const { signal } = context;
  const requestedAtMs = context.cluster.clock.now();
  const { uid } = await node.tags.create(signal);
  const work = () => node.chunks.upload(data, { batch: batchOf(node), tag: uid, signal });
  await context.measure({ operation: 'upload chunk', node: node.name }, work, () => data.length);
  counts.uploaded++;
  const probe = async (aborted: AbortSignal) => {
    const { split, seen, synced } = await node.tags.get(uid, aborted);
    return split > 0 && split - seen <= synced ? undefined : `${synced} of ${split - seen} synced`;
  };
  const missing = await inTime('the chunk is synced', probe, { ...context, timeoutMs: SYNCED_WITHIN_MS });
  if (missing !== undefined) return missing;
  counts.synced++;
  await context.ledger.add({
    kind: 'chunk',
    node: node.name,
    batch: batchOf(node),
    reference: address,
    size: data.length,
    chunks: [address],
    mode: 'deferred',
    level: 'synced',
    requestedAtMs,
    acknowledgedAtMs: context.cluster.clock.now(),
  });
  return undefined;
}

function conclude(context: Context, counts: Counts, total: number): void {
  const least = context.parameters['min-rate'];
  const evidence = counts.problems.length === 0 ? {} : { evidence: counts.problems.slice(0, 20).join('\n') };
  for (const [what, count] of [
    ['uploaded', counts.uploaded],
    ['synced', counts.synced],
    ['retrieved', counts.retrieved],
  ] as const) {
    context.figure({ name: what, value: count, unit: 'chunks' });
    context.expect(`enough chunks are ${what}`, count >= least * total, {
      observed: `${count} of ${total}`,
      expected: `at least ${Math.round(least * 1000) / 10} %`,
      ...evidence,
    });
  }
}
