import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import {
  allAtMost,
  defineScenario,
  expectedUpload,
  findScript,
  formatMs,
  LEDGER_KINDS,
  LOAD_PARAMETERS,
  type LoadPlan,
  type LoadProgress,
  type LoadStep,
  type LoadUpload,
  limitText,
  loadContent,
  loadPlan,
  type PreparedLoad,
  plural,
  prepareLoad,
  runLimit,
  runLoadStep,
  type ScenarioContext,
  type SignedUpdate,
  signUpdates,
} from 'svcnet/scenario';
import { difference, otherNodes, verifyLedger } from './steps/steps.ts';

/** A load may last a day, and uploads are verified afterwards. */
const TIMEOUT_MS = 48 * 3_600_000;
/** Of the requests; with more dropped it would not be the requested load. */
const DROPPED_SHARE_MAX = 0.01;
/** Of the cores; above it the figures may be those of k6. */
const K6_CPU_WARNING = 0.5;
const TAGS_AT_ONCE = 16;
const ENCRYPTED_READ_BACK = 20;

type Context = ScenarioContext<typeof LOAD_PARAMETERS>;

export default defineScenario({
  name: 'load',
  group: 'load',
  about: 'Loads the cluster with k6, then checks that every upload is stored. svcnet load runs this.',
  parameters: LOAD_PARAMETERS,
  needs: { nodes: 2, reachable: true },
  cluster: { nodes: 5 },
  timeoutMs: TIMEOUT_MS,
  async run(context) {
    const seed = Buffer.from(context.random('load').bytes(8)).readBigUInt64LE();
    const plan = loadPlan(context.parameters, seed);
    if (context.parameters.findLimit !== '') {
      await searchLimit(context, plan);
      await verifyLedger(context);
      return;
    }
    const prepared = await prepare(context, plan);
    const load = await runLoad(context, plan, prepared);
    judge(context, plan, load);
    await bookUploads(context, plan, { prepared, load });
    await verifyLedger(context);
  },
});

function prepare(context: Context, plan: LoadPlan): Promise<PreparedLoad> {
  return context.step('prepare', async (progress) => {
    const onNote = (text: string) => progress.detail(text);
    const prepared = await prepareLoad(context.cluster, plan, { signal: context.signal, onNote });
    const bought = prepared.batches.filter((batch) => batch.bought);
    const own = prepared.batches.length - bought.length;
    const depth = bought.length === 0 ? '' : ` of depth ${Math.max(...bought.map((batch) => batch.depth))}`;
    progress.detail(
      [
        ...(own === 0 ? [] : [`${plural(own, 'batch')} that the nodes had`]),
        ...(bought.length === 0 ? [] : [`${plural(bought.length, 'batch')} bought${depth}`]),
        ...(prepared.objects.length === 0 ? [] : [`${plural(prepared.objects.length, 'object')} to read`]),
      ].join(', '),
    );
    return prepared;
  });
}

function runLoad(context: Context, plan: LoadPlan, prepared: PreparedLoad): Promise<LoadStep> {
  return context.step('load', async (progress) => {
    const { k6 } = context.parameters;
    const load = await runLoadStep(context.cluster, plan, {
      signal: context.signal,
      folder: join(context.folder, 'k6'),
      prepared,
      recorder: context.recorder,
      ...(k6 === '' ? {} : { k6 }),
      onProgress(seen) {
        progress.progress(Math.round(seen.goneMs / 1000), Math.round(seen.totalMs / 1000), 'seconds');
        progress.detail(progressText(seen));
      },
    });
    const model = plan.model.model === 'open' ? `${plan.model.rate}/s` : plural(plan.model.vus, 'user');
    progress.detail(
      `${plan.script}, ${plan.profile} ${model}: ${load.achievedRate.toFixed(1)}/s without errors`,
    );
    return load;
  });
}

function progressText({ rate, p95Ms, errors }: LoadProgress): string {
  const p95 = p95Ms === null ? 'p95 -' : `p95 ${formatMs(p95Ms)}`;
  return `${rate.toFixed(1)}/s  ${p95}  ${plural(errors, 'error')}`;
}

async function searchLimit(context: Context, plan: LoadPlan): Promise<void> {
  const { k6, findLimit } = context.parameters;
  const found = await runLimit(context.cluster, plan, {
    signal: context.signal,
    folder: join(context.folder, 'k6'),
    ...(k6 === '' ? {} : { k6 }),
    around: (title, work) =>
      context.step(title, async (progress) => {
        const done = await work((seen) => progress.detail(progressText(seen)));
        const { thresholds, dropped } = done.load;
        const seen = thresholds.map(({ text, observed }) => `${text}: ${observed}`);
        progress.detail([done.outcome, ...seen, ...(dropped > 0 ? [`${dropped} dropped`] : [])].join(', '));
        return done;
      }),
  });
  const { limit, limiters, loads } = found;
  await context.step('limit', (progress) => Promise.resolve(progress.detail(limitText(found))));
  const figure = (name: string, rate: number | undefined) => {
    if (rate !== undefined) context.figure({ name, value: Number(rate.toFixed(2)), unit: '1/s' });
  };
  figure('highest rate that holds', limit.end === 'none' ? undefined : limit.rate);
  figure('lowest rate that does not', limit.failedRate);
  for (const { kind, nodes } of limiters) {
    for (const of of nodes.length === 0 ? ['cluster'] : nodes) {
      context.figure({ name: 'limited by', of, value: kind, unit: '' });
    }
  }
  context.expect(`the highest rate with ${findLimit} is found and confirmed`, limit.end === 'found', {
    observed: limitText(found),
    expected: 'a rate that holds twice more, and one that does not',
  });
  expectSound(
    context,
    loads.map(({ load }) => load),
  );
  for (const { plan: step, prepared, load } of loads) await bookUploads(context, step, { prepared, load });
}

function judge(context: Context, plan: LoadPlan, load: LoadStep): void {
  const { startedRate, achievedRate, dropped, operations, k6Cpu } = load;
  context.figure({ name: 'iterations started', value: Number(startedRate.toFixed(2)), unit: '1/s' });
  context.figure({ name: 'iterations without errors', value: Number(achievedRate.toFixed(2)), unit: '1/s' });
  context.figure({ name: 'iterations dropped', value: dropped, unit: 'iterations' });
  if (k6Cpu !== undefined)
    context.figure({ name: 'processor time of k6', value: Number(k6Cpu.toFixed(2)), unit: 'cores' });
  const count = operations.reduce((sum, operation) => sum + operation.count + operation.errors, 0);
  context.expect('the load performs operations', count > 0, {
    observed: plural(count, 'operation'),
    expected: 'operations',
  });
  const wrong = operations.flatMap(({ errorClasses, errorExamples }) =>
    Object.entries(errorClasses)
      .filter(([kind]) => kind.startsWith('data.'))
      .map(([kind, times]) => ({ times, example: `${kind}: ${errorExamples[kind]}` })),
  );
  context.expect('what is read is what was uploaded', wrong.length === 0, {
    observed: `${wrong.reduce((sum, { times }) => sum + times, 0)} answers wrong or missing`,
    expected: '0',
    ...(wrong.length === 0 ? {} : { evidence: wrong.map(({ example }) => example).join('\n') }),
  });
  expectSound(context, [load]);
  const seconds = plan.durationMs / 1000;
  const share = dropped / Math.max(1, dropped + startedRate * seconds);
  context.expect('iterations start on time', share <= DROPPED_SHARE_MAX, {
    observed: `${dropped} of ${Math.round(dropped + startedRate * seconds)} dropped, because every user of k6 waited for an answer`,
    expected: `at most ${DROPPED_SHARE_MAX * 100}%`,
    threshold: true,
  });
  for (const { text, passed, observed, expected } of load.thresholds) {
    context.expect(`threshold ${text}`, passed, { observed, expected, threshold: true });
  }
  const cores = availableParallelism();
  if (k6Cpu !== undefined && k6Cpu > K6_CPU_WARNING * cores) {
    context.unchecked(
      `what the cluster takes without k6 beside it: k6 used ${k6Cpu.toFixed(1)} of ${cores} cores`,
    );
  }
}

function expectSound(context: Context, loads: readonly LoadStep[]): void {
  const count = loads.reduce((sum, { exceptions }) => sum + exceptions.count, 0);
  const first = loads.map(({ exceptions }) => exceptions.first).find((message) => message !== undefined);
  context.expect('no iteration ends by an exception', count === 0, {
    observed: `${plural(count, 'iteration')} ended by an exception that the script did not catch`,
    expected: '0',
    evidence: first === undefined ? undefined : `the first: ${first}`,
  });
  if (!loads.some(({ markedFailed }) => markedFailed)) return;
  context.expect('the script does not mark the test as failed', false, {
    observed: 'it called exec.test.fail()',
    expected: 'no call',
  });
}

/** Uploads are booked once the network has them; chunks are computed here. */
async function bookUploads(
  context: Context,
  plan: LoadPlan,
  { prepared, load }: { prepared: PreparedLoad; load: LoadStep },
): Promise<void> {
  const now = context.cluster.clock.now();
  const before = prepared.objects.map(({ reference, size, index, node }): LoadUpload => {
    const batch = prepared.batches.find((one) => one.node === node)?.id ?? '';
    return { kind: 'bytes', node, batch, reference, size, index, requestedAtMs: now, acknowledgedAtMs: now };
  });
  const uploads = [...before, ...load.uploads];
  await context.step('sync', async (progress) => {
    const tagged = load.uploads.filter(({ tag }) => tag !== undefined);
    let done = 0;
    const works = tagged.map(({ node, tag }) => async () => {
      await context.cluster.synced({ node, tag: tag as number }, { signal: context.signal });
      progress.progress(++done, tagged.length, 'uploads');
    });
    await allAtMost(TAGS_AT_ONCE, works);
    progress.detail(
      tagged.length === 0
        ? 'every upload was direct'
        : `${plural(tagged.length, 'deferred upload')} on the network`,
    );
  });
  const updates = findScript(plan.script).facts.updates === true ? signUpdates(plan).updates : [];
  await context.step('book', async (progress) => {
    const wrong: string[] = [];
    let done = 0;
    for (const upload of uploads) {
      context.signal.throwIfAborted();
      const problem = await book(context, plan, { upload, updates });
      if (problem !== undefined) wrong.push(problem);
      progress.progress(++done, uploads.length, 'uploads');
    }
    context.expect('each reference matches the bytes', wrong.length === 0, {
      observed: `${wrong.length} of ${uploads.length} differ`,
      expected: '0',
      ...(wrong.length === 0 ? {} : { evidence: wrong.slice(0, 20).join('\n') }),
    });
    progress.detail(plural(uploads.length, 'upload'));
  });
  if (plan.encrypt) await readEncrypted(context, plan, uploads);
}

async function book(
  context: Context,
  plan: LoadPlan,
  { upload, updates }: { upload: LoadUpload; updates: readonly SignedUpdate[] },
): Promise<string | undefined> {
  const { kind, node, batch, size, tag, requestedAtMs, acknowledgedAtMs } = upload;
  const { reference, chunks } = await expectedUpload(plan, upload, updates);
  const mode = tag === undefined ? ('direct' as const) : ('deferred' as const);
  const level = tag === undefined ? ('api' as const) : ('synced' as const);
  const acknowledged = { mode, level, requestedAtMs, acknowledgedAtMs };
  const told = kind === 'chunks' ? reference : upload.reference;
  const entry = { kind: LEDGER_KINDS[kind], node, batch, reference: told, size, chunks };
  await context.ledger.add({ ...entry, ...acknowledged });
  return reference === told ? undefined : `${node} answered ${told}, expected ${reference}`;
}

/** Only the root is known: some content is read on another node, which needs every chunk. */
async function readEncrypted(
  context: Context,
  plan: LoadPlan,
  uploads: readonly LoadUpload[],
): Promise<void> {
  const bytes = uploads.filter(({ kind }) => kind === 'bytes');
  const draw = context.random('encrypted');
  const sample = Array.from(
    { length: Math.min(ENCRYPTED_READ_BACK, bytes.length) },
    () => bytes[draw.below(bytes.length)] as LoadUpload,
  );
  context.unchecked(
    `the chunks below encrypted references, besides their roots and ${plural(sample.length, 'upload')} read back`,
  );
  await context.step('read back', async (progress) => {
    let done = 0;
    for (const { node, reference, index, size } of sample) {
      const [reader] = otherNodes(context.cluster.nodes, context.cluster.node(node));
      if (reader === undefined) return;
      const seen = await reader.bytes.download(reference, { signal: context.signal });
      const part = difference(seen, loadContent(plan, index, size));
      context.expect(`${reader.name} reads an encrypted upload of ${node}`, part === undefined, {
        observed: part ?? 'the same bytes',
        expected: `${size} bytes`,
      });
      progress.progress(++done, sample.length, 'uploads');
    }
  });
}
