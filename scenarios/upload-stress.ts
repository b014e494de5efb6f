import { ClientError, type ClusterNode } from 'svcnet';
import {
  atMost,
  defineScenario,
  expectBytes,
  messageOf,
  parameter,
  plural,
  type ScenarioContext,
} from 'svcnet/scenario';
import { drawn } from './steps/presence.ts';
import { batchOf, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  'node-percentage': parameter('integer', 50, 'percentage of the nodes that upload', { min: 1 }),
  'node-name': parameter('node', '', 'only node that uploads; empty: a share of the nodes'),
  'min-file-size': parameter('size', 2 ** 20, 'size of the smallest upload', { min: 1 }),
  'max-file-size': parameter('size', 2 ** 20, 'size of the largest upload', { min: 1 }),
  'file-count': parameter('integer', 8, 'uploads per node; 0: as many as the time limit allows'),
  timeout: parameter('duration', 60_000, 'time limit for all uploads if file-count is 0'),
  retries: parameter('integer', 5, 'further attempts after a failed upload', { allowance: true }),
  'retry-delay': parameter('duration', 1000, 'pause before the next attempt', { allowance: true }),
  'sync-upload': parameter('boolean', false, 'wait until an upload is synced before starting the next one'),
  concurrency: parameter('integer', 10, 'number of concurrent uploads per node', { min: 1 }),
};
type Context = ScenarioContext<typeof parameters>;

const ENDLESS = 1_000_000;

interface Piece {
  readonly node: ClusterNode;
  readonly tag: number;
  readonly reference: string;
  readonly size: number;
  readonly chunks: readonly string[];
  readonly requestedAtMs: number;
}

export default defineScenario({
  name: 'upload-stress',
  group: 'load',
  about: 'Uploads random files to a share of the nodes at once, then finds every chunk on the network.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 3_600_000,
  async run(context) {
    const pieces: Piece[] = [];
    const failures: string[] = [];
    const uploaders = chosen(context);
    await context.step('upload', async (progress) => {
      progress.detail(`on ${uploaders.map(({ name }) => name).join(', ')}`);
      await Promise.all(uploaders.map((node) => stress(context, node, { pieces, failures })));
    });
    context.expect('no upload fails more often than it is tried again', failures.length === 0, {
      observed: `${failures.length} of ${pieces.length + failures.length} have failed`,
      expected: `none after ${plural(context.parameters.retries + 1, 'attempt')}`,
      ...(failures.length === 0 ? {} : { evidence: failures.slice(0, 20).join('\n') }),
    });
    await sync(context, pieces);
    await verifyLedger(context);
  },
});

function chosen(context: Context): ClusterNode[] {
  const { 'node-name': name, 'node-percentage': share } = context.parameters;
  if (name !== '') return [context.cluster.node(name)];
  const nodes = workingNodes(context.cluster.nodes);
  return drawn(context, 'uploaders', nodes, Math.max(1, Math.round((nodes.length * share) / 100)));
}

async function stress(
  context: Context,
  node: ClusterNode,
  seen: { readonly pieces: Piece[]; readonly failures: string[] },
): Promise<void> {
  const { 'file-count': count, timeout, concurrency } = context.parameters;
  const endsAt = count === 0 ? context.cluster.clock.now() + timeout : Number.POSITIVE_INFINITY;
  let next = 0;
  const worker = async () => {
    for (;;) {
      const index = next++;
      if (index >= (count || ENDLESS) || context.cluster.clock.now() >= endsAt) return;
      const piece = await uploadOne(context, node, index, seen.failures);
      if (piece === undefined) continue;
      seen.pieces.push(piece);
      if (context.parameters['sync-upload']) await sync(context, [piece]);
    }
  };
  await atMost(
    concurrency,
    Array.from({ length: concurrency }, () => worker),
  );
}

async function uploadOne(
  context: Context,
  node: ClusterNode,
  index: number,
  failures: string[],
): Promise<Piece | undefined> {
  const { signal } = context;
  const { retries, 'retry-delay': delay, 'min-file-size': least, 'max-file-size': most } = context.parameters;
  const random = context.random(`${node.name}, upload ${index}`);
  const size = least + random.below(Math.max(1, most - least + 1));
  const data = random.bytes(size);
  const requestedAtMs = context.cluster.clock.now();
  for (let attempt = 0; ; attempt++) {
    try {
      const work = () => node.bytes.upload(data, { batch: batchOf(node), redundancyLevel: 0, signal });
      const key = { operation: 'upload', node: node.name };
      const { reference, tag } = await context.measure(key, work, () => size);
      const { chunks } = await expectBytes(data);
      return { node, tag: tag ?? 0, reference, size, chunks, requestedAtMs };
    } catch (error) {
      if (!(error instanceof ClientError) || signal.aborted) throw error;
      if (attempt >= retries) {
        failures.push(`${node.name}, upload ${index}: ${messageOf(error)}`);
        return undefined;
      }
      await context.cluster.clock.sleep(delay, signal);
    }
  }
}

function sync(context: Context, pieces: readonly Piece[]): Promise<void> {
  const known = new Set(context.ledger.entries.map(({ reference }) => reference));
  const waiting = pieces.filter(({ reference }) => !known.has(reference));
  return context.step('sync', async (progress) => {
    let done = 0;
    for (const { node, tag, ...piece } of waiting) {
      const work = () => context.cluster.synced({ node: node.name, tag }, { signal: context.signal });
      await context.measure({ operation: 'sync', node: node.name }, work, () => piece.size);
      const how = { kind: 'bytes', mode: 'deferred', level: 'synced', batch: batchOf(node) } as const;
      await context.ledger.add({
        ...piece,
        ...how,
        node: node.name,
        acknowledgedAtMs: context.cluster.clock.now(),
      });
      progress.progress(++done, waiting.length, 'uploads');
    }
  });
}
