/**
 * A short storm: uploads, reads and kills, drawn from the seed or read from a schedule, then everything that must hold after
 * it. A run takes seconds.
 */
import { HarnessError } from '../../harness/base/errors.ts';
import { ClientError } from '../../harness/client/errors.ts';
import { type LinkGap, violations } from '../../harness/cluster/books/books.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../harness/inspect/ledger/content.ts';
import { PlacementWatch } from '../../harness/inspect/ledger/placement.ts';
import { defineScenario, parameter, type ScenarioContext } from '../../harness/run/scenario.ts';
import { runSchedule } from '../../harness/run/schedule/run-schedule.ts';
import {
  readSchedule,
  type Schedule,
  type ScheduledFault,
  type ScheduledOperation,
  writeSchedule,
} from '../../harness/run/schedule/schedule.ts';
import { checkBooks } from '../../scenarios/steps/money.ts';
import { changesOf, heldByNobody, storers } from '../../scenarios/steps/presence.ts';
import { watchSlots } from '../../scenarios/steps/stamps.ts';
import { batchOf, difference, verifyLedger, workingNodes } from '../../scenarios/steps/steps.ts';

/** Longer than the pauses of a node. */
const STUCK_AFTER_MS = 8000;
const POLL_PAUSE_MS = 200;
const SETTLED_WITHIN_MS = 6000;
const DOWN_MS = 300;
const PAUSE_MS = 40;
/** Storers that refuse each other make an upload wait without end. */
const ANSWERED_WITHIN_MS = 10_000;
const SIZES = [4096, 60_000, 300_000] as const;

const parameters = {
  operations: parameter('integer', 24, 'uploads and reads, one after the other', { min: 1 }),
  kills: parameter('integer', 3, 'nodes killed and started again meanwhile', { min: 0 }),
  schedule: parameter('text', '', 'schedule.json of an earlier run, to do the same again'),
};
type Context = ScenarioContext<typeof parameters>;
type Upload = Extract<ScheduledOperation, { do: 'upload' }>;
type Download = Extract<ScheduledOperation, { do: 'download' }>;

interface Done {
  readonly operation: Upload;
  readonly node: ClusterNode;
  readonly data: Uint8Array;
  readonly reference: string;
  readonly chunks: readonly string[];
  readonly tag: number | undefined;
}

interface Load {
  readonly uploads: Done[];
  /** A condition is false: the load ends here. */
  broken: boolean;
}

export default defineScenario({
  name: 'rough',
  group: 'chaos',
  about: 'Uploads, reads and kills; then everything that was acknowledged is where it belongs.',
  parameters,
  needs: { nodes: 2 },
  cluster: {
    nodes: 5,
    credit: 'low',
    neighbourhoods: ['0', '1', '0', '1', '0'],
    options: { 'minimum-storage-radius': 1, 'chunk-events': 100_000 },
  },
  timeoutMs: 120_000,
  async run(context) {
    const given = context.parameters.schedule;
    const schedule = given === '' ? draw(context) : readSchedule(given);
    writeSchedule(context.folder, schedule);
    const { uploads, broken } = await rage(context, schedule);
    if (broken) {
      // Whether nodes refuse each other because they count differently.
      await balanced(context);
      return;
    }
    // What is under way is in no place yet.
    if (!(await sync(context, uploads))) return;
    watchSlots(context);
    if (!(await balanced(context))) return;
    await places(context, uploads);
    await verifyLedger(context);
  },
});

function draw(context: Context): Schedule {
  const { cluster, parameters: given } = context;
  const drawn = context.random('schedule');
  const names = workingNodes(cluster.nodes).map(({ name }) => name);
  const pick = <T>(items: readonly T[]): T => items[drawn.below(items.length)] as T;
  const uploads: number[] = [];
  const operations = Array.from({ length: given.operations }, (_, n): ScheduledOperation => {
    const about = { n, lane: 'one', atMs: 0, node: pick(names) };
    if (uploads.length > 0 && drawn.below(3) === 0)
      return { ...about, do: 'download', upload: pick(uploads) };
    uploads.push(n);
    const mode = drawn.below(2) === 0 ? 'direct' : 'deferred';
    return { ...about, do: 'upload', kind: 'bytes', size: pick(SIZES), mode, data: `upload ${n}` };
  });
  const faults = Array.from({ length: given.kills }, (_, n): ScheduledFault => {
    const after = Math.floor(((n + 1) * uploads.length) / (given.kills + 1));
    // Its last chunks wait in its queue.
    const request = { kind: 'kill', node: operations[uploads[after - 1] ?? 0]?.node ?? pick(names) };
    return { id: `s${n + 1}`, when: { after, of: 'uploads acknowledged' }, forMs: DOWN_MS, request };
  });
  return { schema: 1, durationMs: 60_000, faults, operations };
}

function rage(context: Context, { faults, operations, durationMs }: Schedule): Promise<Load> {
  return context.step('rough', async (progress) => {
    const { cluster, signal } = context;
    const load: Load = { uploads: [], broken: false };
    const { uploads } = load;
    const over = new AbortController();
    using limit = cluster.clock.deadline(durationMs, AbortSignal.any([signal, over.signal]));
    const faultsDone = runSchedule(
      faults,
      {
        faults: cluster.faults,
        targets: () => cluster.nodes.map(({ name }) => name),
        progress: () => ({
          'uploads acknowledged': uploads.length,
          'chunks acknowledged': context.ledger.acknowledgedChunks(),
          'bytes acknowledged': uploads.reduce((sum, { data }) => sum + data.length, 0),
        }),
      },
      limit.signal,
    );
    const work = async () => {
      for (const operation of operations) {
        const node = cluster.node(operation.node);
        await running(node, context);
        if (operation.do === 'upload') await upload(context, load, operation);
        if (operation.do === 'download') await download(context, load, operation);
        if (load.broken) return;
        progress.progress(operation.n + 1, operations.length, 'operations');
        // A kill that is due now comes before the next operation.
        await cluster.clock.sleep(PAUSE_MS, signal);
      }
    };
    // No fault begins after the operations, and those that last are healed.
    const outcomes = await Promise.allSettled([work().finally(() => over.abort()), faultsDone]);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    for (const { node } of uploads) await running(node, context);
    return load;
  });
}

async function running(node: ClusterNode, { cluster, signal }: Context): Promise<void> {
  while (!node.running) await cluster.clock.sleep(PAUSE_MS, signal);
}

async function upload(context: Context, load: Load, operation: Upload): Promise<void> {
  const { cluster, signal } = context;
  const node = cluster.node(operation.node);
  const data = context.random(operation.data).bytes(operation.size);
  const { reference, chunks } = await expectBytes(data);
  const deferred = operation.mode === 'deferred';
  const requestedAtMs = cluster.clock.now();
  const options = {
    batch: batchOf(node),
    deferred,
    redundancyLevel: 0,
    timeoutMs: ANSWERED_WITHIN_MS,
    signal,
  };
  const send = () => node.bytes.upload(data, options);
  const taken = await undisturbed(context, load, { name: 'every upload is taken', work: send });
  if (taken === undefined) return;
  const done = { operation, node, data, reference, chunks, tag: deferred ? taken.tag : undefined };
  load.uploads.push(done);
  if (deferred) return;
  await note(context, done, { level: 'api', requestedAtMs });
  const missing = (await heldByNobody(chunks, cluster, signal)) ?? [];
  load.broken ||= !context.expect(
    'what a direct upload acknowledges is on a node at once',
    missing.length === 0,
    { observed: `${missing.length} of ${chunks.length} chunks are nowhere`, expected: 'none' },
  );
}

/**
 * The node has to answer; nothing is known if a node was killed or started meanwhile: it may have been the one needed.
 * @returns undefined without an answer
 */
async function undisturbed<T>(
  context: Context,
  load: Load,
  {
    name,
    work,
    underWay,
  }: { readonly name: string; readonly work: () => Promise<T>; readonly underWay?: boolean },
): Promise<T | undefined> {
  const { cluster, signal } = context;
  const before = changesOf(cluster.nodes);
  try {
    return await answered(work, context, underWay === true ? [503, 404] : [503]);
  } catch (error) {
    if (!(error instanceof ClientError) || signal.aborted) throw error;
    await cluster.clock.sleep(DOWN_MS, signal);
    if (changesOf(cluster.nodes) === before)
      load.broken ||= !context.expect(name, false, { observed: error.message, expected: 'all are' });
    return undefined;
  }
}

/**
 * A node killed meanwhile, or just started, has acknowledged nothing: it is asked again.
 * @param notYet statuses after which it is asked again as well
 */
async function answered<T>(
  work: () => Promise<T>,
  { cluster: { clock }, signal }: Context,
  notYet: readonly number[],
): Promise<T> {
  const until = clock.monotonic() + ANSWERED_WITHIN_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isAway =
        error instanceof ClientError && (error.status === undefined || notYet.includes(error.status));
      if (!isAway || clock.monotonic() > until || signal.aborted) throw error;
      await clock.sleep(PAUSE_MS * 5, signal);
    }
  }
}

async function note(
  { cluster, ledger }: Context,
  { operation, node, reference, chunks }: Done,
  { level, requestedAtMs }: { readonly level: 'api' | 'synced'; readonly requestedAtMs: number },
): Promise<void> {
  const { size, mode } = operation;
  const batch = batchOf(node);
  const acknowledgedAtMs = cluster.clock.now();
  const kind = 'bytes';
  const entry = { kind, node: node.name, batch, reference, size, chunks, mode, level } as const;
  await ledger.add({ ...entry, requestedAtMs, acknowledgedAtMs });
}

async function download(
  context: Context,
  load: Load,
  { node: name, upload: wanted }: Download,
): Promise<void> {
  const upload = load.uploads.find(({ operation }) => operation.n === wanted);
  if (upload === undefined || !upload.node.running) return;
  const node = context.cluster.node(name);
  const options = { cache: false, signal: context.signal };
  const read = () => node.bytes.download(upload.reference, options);
  // Deferred chunks may not have reached the network yet.
  const underWay = upload.tag !== undefined;
  const seen = await undisturbed(context, load, { name: 'every upload is delivered', work: read, underWay });
  if (seen === undefined) return;
  const wrong = difference(seen, upload.data);
  load.broken ||= !context.expect('what is read is what was uploaded', wrong === undefined, {
    observed: wrong ?? 'equal bytes',
    expected: `${upload.data.length} bytes`,
  });
}

/** @returns whether all have reached the network */
function sync(context: Context, uploads: readonly Done[]): Promise<boolean> {
  return context.step('sync', async () => {
    const { cluster, signal } = context;
    if (uploads.length === 0) throw new HarnessError('NODE_STATE', 'nothing was uploaded');
    const waiting = uploads.filter(({ tag }) => tag !== undefined);
    const missing = await stuck(context, async () => {
      for (const { node, tag = 0 } of waiting) {
        const { split, seen, synced } = await node.tags.get(tag, signal);
        if (seen + synced < split) return `${node.name}, tag ${tag}: ${seen + synced} of ${split} chunks`;
      }
      return undefined;
    });
    const seen = { observed: missing ?? 'all are', expected: 'all are' };
    const isDone = context.expect('every deferred upload is synced', missing === undefined, seen);
    if (!isDone) return false;
    for (const done of waiting)
      await note(context, done, { level: 'synced', requestedAtMs: cluster.clock.now() });
    return true;
  });
}

/**
 * A connection starts at zero on both sides, so balances agree whatever was killed; sums of payments do not if an end died
 * within one. @returns whether they do
 */
async function balanced(context: Context): Promise<boolean> {
  const harmed = new Set(context.cluster.faults.history.flatMap(({ targets }) => targets));
  const isExplained = ({ what, ends }: LinkGap) =>
    what !== 'balance' && ends.some((name) => harmed.has(name));
  const books = await checkBooks(context, { timeoutMs: SETTLED_WITHIN_MS, isExplained });
  return violations(books, undefined, isExplained).length === 0;
}

function places(context: Context, uploads: readonly Done[]): Promise<void> {
  return context.step('places', async () => {
    const { cluster, signal } = context;
    const all = uploads.flatMap(({ chunks }) => chunks);
    const watch = new PlacementWatch(all, storers(cluster.nodes));
    const astray = await stuck(context, async () => {
      const seen = await watch.probe(signal);
      return 'done' in seen ? undefined : seen.missing;
    });
    const seen = { observed: astray ?? 'all are', expected: 'all are' };
    context.expect('every chunk is on all nodes that cover it', astray === undefined, seen);
  });
}

/** Or until it stays the same for too long. @returns what is missing in the end */
async function stuck(
  { cluster: { clock }, signal }: Context,
  probe: () => Promise<string | undefined>,
): Promise<string | undefined> {
  let movedAt = clock.monotonic();
  for (let before: string | undefined; ; ) {
    const missing = await probe();
    if (missing === undefined) return undefined;
    if (missing !== before) movedAt = clock.monotonic();
    if (clock.monotonic() - movedAt > STUCK_AFTER_MS) return missing;
    before = missing;
    await clock.sleep(POLL_PAUSE_MS, signal);
  }
}
