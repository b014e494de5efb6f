/**
 * More chunks than one reserve holds: the storage radius grows while they arrive, and what a node gives up must be on
 * another by then. Meanwhile nodes are killed, restarted, join and leave, and batches expire, as the parameters say.
 */

import { ClientError, type ClusterNode, HarnessError } from 'svcnet';
import {
  atMost,
  batchAmount,
  buyBatch,
  type CongestedNeighbourhood,
  congestionOf,
  defineScenario,
  expectBytes,
  formatBytes,
  fromHex,
  grouped,
  parameter,
  proximityOrder,
  type ScenarioContext,
} from 'svcnet/scenario';
import { storers } from './steps/presence.ts';
import { batchOf, difference, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  chunks: parameter(
    'integer',
    30_000,
    'total number of chunks to upload; the last file is always completed',
    { min: 1 },
  ),
  sizes: parameter('sizes', [4096, 32_768, 262_144, 1_000_000], 'sizes of the files, drawn at random'),
  kills: parameter('integer', 0, 'number of times that a node is killed and restarted during the uploads'),
  restarts: parameter(
    'integer',
    0,
    'number of times that a node is stopped and restarted during the uploads',
  ),
  joins: parameter('integer', 0, 'number of nodes that join during the uploads, with empty reserves'),
  leaves: parameter('integer', 0, 'number of nodes that leave for good during the uploads'),
  expiring: parameter('integer', 0, 'number of 1 MB files whose batch expires during the uploads'),
};
type Context = ScenarioContext<typeof parameters>;

/** Per node. */
const READS_AT_ONCE = 2;
const DELIVERED_WITHIN_MS = 120_000;
/** Longer than any retry pause of a node. */
const STUCK_AFTER_MS = 40_000;
/** While no node reports what uploads wait for. */
const UNEXPLAINED_AFTER_MS = 90_000;
const LEAVES_WITHIN_MS = 90_000;
/** From the purchase. */
const EXPIRES_AFTER_BLOCKS = 40;
const EXPIRING_SIZE = 1_000_000;
const OVERHANG_MAX = 2.5;
const POLL_MS = 500;
const AWAY_MS = { min: 500, range: 3_000 };

interface File {
  readonly node: ClusterNode;
  readonly stream: string;
  readonly size: number;
  readonly reference: string;
  readonly chunks: readonly string[];
  readonly tag: number;
  readonly requestedAtMs: number;
}

interface Settled {
  readonly synced: readonly File[];
  /** Without a place. */
  readonly stuck: readonly File[];
}

/** What the nodes do, as far as faults determine it. */
interface Stage {
  /** Faults that keep nodes away. */
  readonly joining: readonly string[];
  readonly expiring: { readonly node: ClusterNode; readonly batch: string } | undefined;
  /** Coming back. */
  readonly away: Set<ClusterNode>;
  readonly gone: Set<ClusterNode>;
  uploaded: number;
}

export default defineScenario({
  name: 'radius-growth',
  group: 'durability',
  about: 'Fills the reserves until the storage radius grows, then reads everything back from every node.',
  parameters,
  needs: { nodes: 4, started: true },
  cluster: { nodes: 10, options: { 'reserve-capacity': 9000 } },
  timeoutMs: 1_800_000,
  async run(context) {
    if (context.parameters.kills > 0) context.requires('kill');
    const stage = await prepare(context);
    const watch = new AbortController();
    const sizes = watchReserves(context, watch.signal);
    let files: File[];
    let settled: Settled;
    try {
      files = await upload(context, stage);
      settled = await settle(context, stage, files);
    } finally {
      watch.abort();
    }
    checkSynced(context, settled, await congestionOf(context.cluster.nodes, context.signal));
    await readBack(context, stage, settled);
    await checkReserves(context, await sizes);
    await verifyLedger(context);
  },
});

/** Later nodes are stopped before they have anything. */
async function prepare(context: Context): Promise<Stage> {
  const { cluster, signal, parameters: given } = context;
  const { joins, leaves, expiring } = given;
  const running = workingNodes(cluster.nodes);
  if (running.length - joins - leaves < 2) {
    throw new HarnessError(
      'USAGE',
      `${joins} joins and ${leaves} leaves leave fewer than 2 of ${running.length} nodes`,
    );
  }
  const later = running.slice(running.length - joins);
  const joining = await Promise.all(later.map((node) => takeAway(context, 'stop', node)));
  const [buyer] = running as [ClusterNode];
  const amount = batchAmount(
    EXPIRES_AFTER_BLOCKS * cluster.chain.blockTimeMs,
    await cluster.chain.batchTerms(),
  );
  const request = { amount, depth: 20, label: 'expiring' };
  const batch = expiring === 0 ? undefined : await buyBatch(cluster, buyer, request, signal);
  return {
    joining,
    expiring: batch === undefined ? undefined : { node: buyer, batch },
    away: new Set(),
    gone: new Set(),
    uploaded: 0,
  };
}

function upload(scenario: Context, stage: Stage): Promise<File[]> {
  const { cluster, parameters: given } = scenario;
  return scenario.step('upload', async (progress) => {
    const files: File[] = [];
    // A failure ends all that runs here.
    const failed = new AbortController();
    const context = { ...scenario, signal: AbortSignal.any([scenario.signal, failed.signal]) };
    const uploaded = new AbortController();
    const uploading = workingNodes(cluster.nodes).map(async (node) => {
      const random = context.random(`sizes of ${node.name}`);
      for (let n = 0; stage.uploaded < given.chunks && !stage.gone.has(node); n++) {
        const size = given.sizes[random.below(given.sizes.length)] as number;
        const file = await uploadOne(context, stage, { node, stream: `${node.name}, file ${n}`, size });
        files.push(file);
        progress.progress(Math.min(stage.uploaded, given.chunks), given.chunks, 'chunks');
      }
    });
    const uploads = Promise.all(uploading).finally(() => uploaded.abort());
    try {
      await Promise.all([uploads, expire(context, stage, uploaded.signal), happen(context, stage, files)]);
    } finally {
      failed.abort();
    }
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    progress.detail(`${files.length} files, ${grouped(stage.uploaded)} chunks, ${formatBytes(bytes)}`);
    return files;
  });
}

/** A node killed in the middle has acknowledged nothing: the upload is repeated. */
async function uploadOne(
  context: Context,
  stage: Stage,
  { node, stream, size, batch = batchOf(node) }: Pick<File, 'node' | 'stream' | 'size'> & { batch?: string },
): Promise<File> {
  const { signal } = context;
  const data = context.random(stream).bytes(size);
  const { reference, chunks } = await expectBytes(data);
  stage.uploaded += chunks.length;
  const requestedAtMs = context.cluster.clock.now();
  for (;;) {
    try {
      const key = { operation: `upload ${formatBytes(size)}`, node: node.name };
      const work = () => node.bytes.upload(data, { batch, redundancyLevel: 0, signal });
      const { tag } = await context.measure(key, work, () => size);
      if (tag === undefined) throw new HarnessError('NODE_STATE', `${node.name} gave an upload no tag`);
      return { node, stream, size, reference, chunks, tag, requestedAtMs };
    } catch (error) {
      if (!(isUnanswered(error) || stage.away.has(node)) || signal.aborted) throw error;
      await context.cluster.clock.sleep(POLL_MS, signal);
    }
  }
}

function isUnanswered(error: unknown): boolean {
  return error instanceof ClientError && (error.status === undefined || error.status === 503);
}

async function happen(context: Context, stage: Stage, files: readonly File[]): Promise<void> {
  const { kills, restarts, leaves, chunks } = context.parameters;
  const kinds: readonly [name: string, count: number, fault: (n: number) => Promise<void>][] = [
    ['killed', kills, (n) => away(context, stage, 'kill', n)],
    ['restarted', restarts, (n) => away(context, stage, 'stop', n)],
    [
      'joined',
      stage.joining.length,
      async (n) => void (await context.cluster.faults.heal(stage.joining[n] ?? '')),
    ],
    ['left for good', leaves, () => leave(context, stage, files)],
  ];
  const planned = kinds.flatMap(([, count, fault]) =>
    Array.from({ length: count }, (_, n) => ({ at: (chunks * (n + 0.5)) / count, run: () => fault(n) })),
  );
  for (const { at, run } of planned.toSorted((a, b) => a.at - b.at)) {
    while (stage.uploaded < at) await context.cluster.clock.sleep(POLL_MS / 10, context.signal);
    await run();
  }
  for (const [name, value] of kinds) if (value > 0) context.figure({ name, value, unit: 'times' });
}

async function takeAway(
  { cluster, signal }: Context,
  kind: 'kill' | 'stop',
  node: ClusterNode,
): Promise<string> {
  return (await cluster.faults.begin({ kind, node: node.name }, { signal })).id;
}

async function away(context: Context, stage: Stage, kind: 'kill' | 'stop', n: number): Promise<void> {
  const random = context.random(`${kind === 'kill' ? 'kill' : 'restart'} ${n}`);
  const there = workingNodes(context.cluster.nodes).filter((node) => !stage.gone.has(node));
  const node = there[random.below(there.length)] as ClusterNode;
  stage.away.add(node);
  const id = await takeAway(context, kind, node);
  await context.cluster.clock.sleep(AWAY_MS.min + random.below(AWAY_MS.range), context.signal);
  await context.cluster.faults.heal(id);
  stage.away.delete(node);
}

/** It never comes back: its neighbourhood has others, and its own uploads must be on the network. */
async function leave(context: Context, stage: Stage, files: readonly File[]): Promise<void> {
  const { cluster, signal } = context;
  const there = workingNodes(cluster.nodes).filter((node) => !stage.gone.has(node));
  const nearest = (node: ClusterNode) =>
    Math.max(
      ...there
        .filter((other) => other !== node)
        .map((other) => proximityOrder(fromHex(node.overlay), fromHex(other.overlay))),
    );
  const leaving = there.toSorted((a, b) => nearest(b) - nearest(a))[0] as ClusterNode;
  stage.gone.add(leaving);
  // Its uploader may have one more file under way.
  const own = () => files.filter(({ node }) => node === leaving);
  for (let seen = -1; seen !== own().length; ) {
    seen = own().length;
    const limits = { timeoutMs: LEAVES_WITHIN_MS, signal };
    await Promise.all(own().map(({ node, tag }) => cluster.synced({ node: node.name, tag }, limits)));
    await cluster.clock.sleep(POLL_MS * 4, signal);
  }
  await takeAway(context, 'stop', leaving);
}

async function expire(context: Context, stage: Stage, ended: AbortSignal): Promise<void> {
  const { expiring } = stage;
  if (expiring === undefined) return;
  for (let n = 0; n < context.parameters.expiring && !ended.aborted; n++) {
    const file = { node: expiring.node, stream: `expiring file ${n}`, size: EXPIRING_SIZE };
    try {
      await uploadOne(context, stage, { ...file, batch: expiring.batch });
    } catch (error) {
      // On a slow machine the batch expires before its last file.
      if (error instanceof ClientError && error.class.startsWith('stamp.')) return;
      throw error;
    }
  }
}

/** Every tag is synced, or nothing moves for longer than retries pause. */
function settle(context: Context, { gone }: Stage, files: readonly File[]): Promise<Settled> {
  const { cluster, ledger, signal } = context;
  return context.step('sync', async (progress) => {
    const startedAt = cluster.clock.now();
    const waiting = new Set(files);
    const synced: File[] = [];
    let movedAt = cluster.clock.now();
    let before = '';
    while (waiting.size > 0 && cluster.clock.now() - movedAt < UNEXPLAINED_AFTER_MS) {
      if (cluster.clock.now() - movedAt > STUCK_AFTER_MS) {
        const congestion = await congestionOf(cluster.nodes, signal);
        if (congestion.some((one) => one.waiting > 0)) break;
      }
      const tags = new Map<ClusterNode, Map<number, number>>();
      for (const node of cluster.nodes.filter((one) => one.running)) {
        const list = await node.tags.list(signal);
        tags.set(node, new Map(list.map((tag) => [tag.uid, tag.split - tag.synced - tag.seen])));
      }
      for (const file of waiting) {
        // A node that has left had everything synced.
        const missing = gone.has(file.node) ? 0 : tags.get(file.node)?.get(file.tag);
        if (missing === undefined || missing > 0) continue;
        waiting.delete(file);
        synced.push(file);
        const { node, reference, size, chunks, requestedAtMs } = file;
        const how = { kind: 'bytes', mode: 'deferred', level: 'synced' } as const;
        const when = { requestedAtMs, acknowledgedAtMs: cluster.clock.now() };
        await ledger.add({ ...how, ...when, node: node.name, batch: batchOf(node), reference, size, chunks });
      }
      const now = [...tags.values()].map((left) => [...left.values()].join()).join(';');
      if (now !== before) movedAt = cluster.clock.now();
      before = now;
      progress.progress(synced.length, files.length, 'files');
      if (waiting.size > 0) await cluster.clock.sleep(POLL_MS, signal);
    }
    progress.detail(`${synced.length} of ${files.length} files synced`);
    const seconds = Math.round((cluster.clock.now() - startedAt) / 100) / 10;
    context.figure({ name: 'synced after the last upload', value: seconds, unit: 's' });
    return { synced, stuck: [...waiting] };
  });
}

interface Reading {
  readonly step: string;
  readonly readers: readonly ClusterNode[];
  readonly filesOf: (reader: ClusterNode) => readonly File[];
  /** All are delivered. */
  readonly condition: string;
}

/** Reads synced files from every node, and each without a place from another node. */
async function readBack(context: Context, { gone }: Stage, { synced, stuck }: Settled): Promise<void> {
  const readers = workingNodes(context.cluster.nodes).filter((node) => !gone.has(node));
  await read(context, {
    step: 'read',
    readers,
    filesOf: () => synced,
    condition: 'every node delivers every file that is reported as synced',
  });
  if (stuck.length === 0) return;
  const readerOf = (file: File, n: number) => {
    const others = readers.filter((node) => node !== file.node);
    return others[n % others.length];
  };
  await read(context, {
    step: 'read waiting',
    readers,
    filesOf: (reader) => stuck.filter((file, n) => readerOf(file, n) === reader),
    condition: 'uploads that wait for a place are not lost',
  });
}

function read(context: Context, { step, readers, filesOf, condition }: Reading): Promise<void> {
  const { signal } = context;
  return context.step(step, async (progress) => {
    const startedAt = context.cluster.clock.now();
    const total = readers.reduce((sum, node) => sum + filesOf(node).length, 0);
    const wrong: string[] = [];
    let done = 0;
    const works = (node: ClusterNode) =>
      filesOf(node).map((file) => async () => {
        let failure = await failureOf(context, node, file);
        while (failure !== undefined && context.cluster.clock.now() - startedAt < DELIVERED_WITHIN_MS) {
          await context.cluster.clock.sleep(POLL_MS * 4, signal);
          failure = await failureOf(context, node, file);
        }
        if (failure !== undefined)
          wrong.push(`${node.name}: ${file.reference} of ${file.node.name}: ${failure}`);
        progress.progress(++done, total, 'downloads');
      });
    await Promise.all(readers.map((node) => atMost(READS_AT_ONCE, works(node))));
    const seconds = Math.round((context.cluster.clock.now() - startedAt) / 100) / 10;
    progress.detail(`${grouped(total)} files by ${readers.length} nodes`);
    context.figure({ name: `${step}: all files`, value: seconds, unit: 's' });
    context.expect(condition, wrong.length === 0, {
      observed: `${wrong.length} of ${total} reads failed`,
      expected: `none ${DELIVERED_WITHIN_MS / 1000} s after the first`,
      ...(wrong.length === 0 ? {} : { evidence: wrong.slice(0, 50).join('\n') }),
    });
  });
}

async function failureOf(context: Context, node: ClusterNode, file: File): Promise<string | undefined> {
  const { signal } = context;
  const work = () => node.bytes.download(file.reference, { cache: false, signal });
  try {
    const seen = await context.measure({ operation: 'read', node: node.name }, work, ({ length }) => length);
    return difference(seen, context.random(file.stream).bytes(file.size));
  } catch (error) {
    if (!(error instanceof ClientError) || signal.aborted) throw error;
    return error.message;
  }
}

/** An unsynced upload waits for a neighbourhood that reports why. */
function checkSynced(
  context: Context,
  { synced, stuck }: Settled,
  congestion: readonly CongestedNeighbourhood[],
): void {
  const waiting = congestion.reduce((sum, one) => sum + one.waiting, 0);
  for (const { neighbourhood, waiting: value } of congestion.filter((one) => one.waiting > 0)) {
    context.figure({ name: 'without a place', of: `neighbourhood ${neighbourhood}`, value, unit: 'chunks' });
  }
  context.figure({ name: 'synced', value: synced.length, unit: 'files' });
  if (stuck.length > 0) context.figure({ name: 'not synced', value: stuck.length, unit: 'files' });
  context.expect(
    'every upload that is not synced waits for a named neighbourhood',
    stuck.length === 0 || waiting > 0,
    {
      observed: `${stuck.length} files not synced, ${grouped(waiting)} chunks waiting`,
      expected: 'no file, or the neighbourhoods without room or without a node',
      ...(congestion.length === 0 ? {} : { evidence: congestion.map(({ text }) => text).join('\n') }),
    },
  );
}

async function watchReserves({ cluster }: Context, ended: AbortSignal): Promise<Map<string, number>> {
  const largest = new Map<string, number>();
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  ended.addEventListener('abort', () => resolve(), { once: true });
  while (!ended.aborted) {
    for (const node of cluster.nodes.filter((one) => one.running)) {
      // A node may be killed between check and request.
      const size = await node.client.status(ended).then(
        ({ reserveSize }) => reserveSize,
        () => 0,
      );
      largest.set(node.name, Math.max(size, largest.get(node.name) ?? 0));
    }
    await Promise.race([cluster.clock.sleep(POLL_MS), aborted]);
  }
  return largest;
}

async function checkReserves(context: Context, largest: ReadonlyMap<string, number>): Promise<void> {
  const { cluster, signal } = context;
  const nodes = storers(cluster.nodes);
  const backlogs = await Promise.all(nodes.map((node) => node.client.backlog(signal)));
  const radii = backlogs.map(({ reserve }) => reserve.storageRadius);
  for (const [i, node] of nodes.entries()) {
    context.figure({ name: 'storage radius', of: node.name, value: radii[i] as number, unit: 'bits' });
  }
  context.expect('the storage radius has grown', Math.max(...radii) > 0, {
    observed: radii.join(', '),
    expected: 'above 0 on some node: more chunks, or a smaller reserve-capacity',
  });
  const worst = Math.max(
    ...nodes.map((node, i) => (largest.get(node.name) ?? 0) / (backlogs[i]?.reserve.capacity ?? 1)),
  );
  context.figure({ name: 'fullest reserve', value: Math.round(worst * 100), unit: '% of its capacity' });
  context.expect('no reserve holds much more than its capacity', worst <= OVERHANG_MAX, {
    observed: `${Math.round(worst * 100)} %`,
    expected: `at most ${OVERHANG_MAX * 100} % while chunks are handed over`,
  });
}
