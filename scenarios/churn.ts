import { ClientError, type ClusterNode } from 'svcnet';
import {
  defineScenario,
  expectBytes,
  messageOf,
  parameter,
  type RedundancyLevel,
  type ScenarioContext,
} from 'svcnet/scenario';
import { drawn, holdersOf, neighbourhoodOf, storers } from './steps/presence.ts';
import { batchOf, difference, inTime, uploadLedgered, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  churn: parameter(
    'integer',
    20,
    'percentage of the nodes that leave in each round, and of the absent ones that return',
    {
      min: 1,
    },
  ),
  rounds: parameter('integer', 3, 'number of rounds of uploads, departures and returns', { min: 1 }),
  'file-size': parameter('size', 2 ** 20, 'size of the file uploaded in each round', { min: 1 }),
  level: parameter('text', '2', 'redundancy level of the files', { oneOf: ['0', '1', '2', '3', '4'] }),
  downloads: parameter('integer', 5, 'number of nodes that read each file after each change', { min: 1 }),
  'min-retrieved': parameter('number', 1, 'smallest share of the reads that must succeed'),
  'join-within': parameter('duration', 30_000, 'time within which a returning node must be connected', {
    allowance: true,
  }),
  'sync-within': parameter('duration', 120_000, 'time within which it must have its neighbourhood’s chunks', {
    allowance: true,
  }),
};
type Context = ScenarioContext<typeof parameters>;

/** Never leave: some nodes must keep what was uploaded. */
const STAY_MIN = 2;

type StopId = string;

interface File {
  readonly name: string;
  readonly reference: string;
  readonly chunks: readonly string[];
}

export default defineScenario({
  name: 'churn',
  group: 'chaos',
  tags: ['kill', 'restart'],
  about:
    'Stops nodes and brings them back, some with an empty store, then checks that files stay retrievable and reserves refill.',
  parameters,
  needs: { nodes: 4, started: true },
  cluster: { nodes: 8 },
  timeoutMs: 3_600_000,
  async run(context) {
    const all = workingNodes(context.cluster.nodes);
    const share = Math.max(1, Math.floor((all.length * context.parameters.churn) / 100));
    // These join with nothing.
    const gone = new Map<ClusterNode, StopId>();
    for (const node of drawn(context, 'first', all.slice(STAY_MIN), share))
      gone.set(node, await stop(context, node));
    const files: File[] = [];
    const failures: string[] = [];
    let reads = 0;
    for (let round = 1; round <= context.parameters.rounds; round++) {
      const there = () => all.filter((node) => !gone.has(node));
      files.push(
        await upload(context, drawn(context, `uploader ${round}`, there(), 1)[0] as ClusterNode, round),
      );
      const joining = [...gone.keys()];
      for (const [node, id] of gone) await join(context, { node, id }, files);
      gone.clear();
      reads += await read(
        context,
        { files, readers: there(), first: joining, name: `joins ${round}` },
        failures,
      );
      const leaving = drawn(context, `leaves ${round}`, there().slice(STAY_MIN), share);
      for (const node of leaving) gone.set(node, await stop(context, node));
      reads += await read(context, { files, readers: there(), first: [], name: `leaves ${round}` }, failures);
    }
    conclude(context, reads, failures);
    for (const id of gone.values()) await context.cluster.faults.heal(id);
    await context.cluster.meshed({ signal: context.signal });
    await verifyLedger(context);
  },
});

/** Healed however the scenario ends: no node of a cluster that goes on stays away. */
async function stop({ cluster, signal }: Context, node: ClusterNode): Promise<StopId> {
  const { id } = await cluster.faults.begin({ kind: 'stop', node: node.name }, { signal });
  return id;
}

async function upload(context: Context, node: ClusterNode, round: number): Promise<File> {
  const { 'file-size': size, level } = context.parameters;
  const redundancyLevel = Number(level) as RedundancyLevel;
  const name = `file ${round}`;
  const data = context.random(name).bytes(size);
  const batch = batchOf(node);
  const { reference, chunks } = await expectBytes(data, { level: redundancyLevel });
  await context.step('upload', () =>
    uploadLedgered(context, {
      operation: 'upload',
      kind: 'bytes',
      node,
      batch,
      size,
      mode: 'deferred',
      upload: () => node.bytes.upload(data, { batch, redundancyLevel, signal: context.signal }),
      expected: () => Promise.resolve({ reference, chunks }),
    }),
  );
  return { name, reference, chunks };
}

/** Waits for its peers and for the chunks that now belong to it. */
function join(
  context: Context,
  { node, id }: { readonly node: ClusterNode; readonly id: StopId },
  files: readonly File[],
): Promise<void> {
  return context.step('join', async (progress) => {
    const { signal, parameters: given, cluster } = context;
    const startedAt = cluster.clock.monotonic();
    await cluster.faults.heal(id);
    const connected = await inTime(
      'it is connected',
      async (aborted) => ((await node.client.peers(aborted)).length > 0 ? undefined : 'no peers'),
      { cluster, timeoutMs: given['join-within'], signal },
    );
    const readyMs = Math.round(cluster.clock.monotonic() - startedAt);
    context.expect(
      `${node.name} is connected in time`,
      connected === undefined && readyMs <= given['join-within'],
      {
        observed: connected ?? `${readyMs} ms`,
        expected: `at most ${given['join-within']} ms`,
      },
    );
    context.figure({ name: 'connected after', of: node.name, value: readyMs, unit: 'ms' });
    const chunks = files.flatMap((file) => file.chunks);
    const probe = async (aborted: AbortSignal) => {
      const full = storers(cluster.nodes);
      for (const chunk of chunks) {
        const { nodes } = await neighbourhoodOf(chunk, full, aborted);
        if (nodes.includes(node) && (await holdersOf(chunk, [node], aborted)).length === 0)
          return `${node.name} lacks chunk ${chunk.slice(0, 8)}`;
      }
      return undefined;
    };
    const missing = await inTime('it has its chunks', probe, {
      cluster,
      timeoutMs: given['sync-within'],
      signal,
    });
    context.expect(`${node.name} gets the chunks of its neighbourhood`, missing === undefined, {
      observed: missing ?? `all of ${chunks.length} that are its own`,
      expected: `within ${given['sync-within']} ms`,
    });
    const syncedMs = Math.round(cluster.clock.monotonic() - startedAt);
    context.figure({ name: 'synced after', of: node.name, value: syncedMs, unit: 'ms' });
    progress.detail(node.name);
  });
}

interface Reading {
  readonly files: readonly File[];
  readonly readers: readonly ClusterNode[];
  /** These read in any case. */
  readonly first: readonly ClusterNode[];
  readonly name: string;
}

/** @returns number of reads */
function read(
  context: Context,
  { files, readers, first, name }: Reading,
  failures: string[],
): Promise<number> {
  return context.step('read', async (progress) => {
    const { signal, parameters: given } = context;
    const others = readers.filter((node) => !first.includes(node));
    let reads = 0;
    for (const file of files) {
      const more = drawn(context, `readers of ${file.name}, ${name}`, others, given.downloads - first.length);
      const data = context.random(file.name).bytes(given['file-size']);
      for (const node of [...first, ...more]) {
        reads++;
        try {
          const work = () => node.bytes.download(file.reference, { cache: false, signal });
          const key = { operation: 'download', node: node.name };
          const part = difference(await context.measure(key, work, ({ length }) => length), data);
          if (part !== undefined) failures.push(`${node.name}, ${file.name} after ${name}: ${part}`);
        } catch (error) {
          if (!(error instanceof ClientError) || signal.aborted) throw error;
          failures.push(`${node.name}, ${file.name} after ${name}: ${messageOf(error)}`);
        }
      }
    }
    progress.detail(`${reads} reads`);
    return reads;
  });
}

function conclude(context: Context, reads: number, failures: readonly string[]): void {
  const least = context.parameters['min-retrieved'];
  context.expect('files stay retrievable', reads - failures.length >= least * reads, {
    observed: `${reads - failures.length} of ${reads} reads`,
    expected: `at least ${Math.round(least * 1000) / 10} %`,
    ...(failures.length === 0 ? {} : { evidence: failures.slice(0, 20).join('\n') }),
  });
}
