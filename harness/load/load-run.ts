/** One load from its plan to its figures: prepared, made by k6, and followed while it goes on. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cannotWrite, HarnessError, messageOf } from '../base/errors.ts';
import { parseDurationMs } from '../base/words.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { Distribution } from '../metrics/distribution.ts';
import { createRecorder, type Recorder } from '../metrics/recorder.ts';
import { bundle } from './k6/bundle.ts';
import {
  CONFIG_VARIABLE,
  type LoadConfig,
  type LoadData,
  type OperationRecord,
  type TargetNode,
} from './k6/config.ts';
import { MEASURED, scenariosOf } from './k6/executors.ts';
import { findK6, type K6 } from './k6/find-k6.ts';
import { runK6 } from './k6/k6-run.ts';
import { classOfFailure, recordOf, requestOf } from './k6/records.ts';
import type { LoadOptions, LoadPlan, LoadProgress, LoadStep, LoadUpload } from './plan.ts';
import { FEED_UPDATE_BYTES, prepareLoad, signUpdates } from './prepare.ts';
import { findScript, type Script } from './scripts.ts';
import { ownVerdicts, type SummaryMetric, statsOf, toK6, verdictOf } from './thresholds.ts';

const PROGRESS_MS = 500;
/** Rates shown are of the last seconds. */
const RATE_WINDOW_MS = 3000;

/**
 * Runs a load on a running cluster. What it does to the nodes is in `operations`; what it has uploaded is in `uploads`,
 * and nobody has looked for it yet.
 * @throws HarnessError `LOAD_FAILED` when k6 cannot end it, `BINARY_INVALID` without k6, `INTERRUPTED`, `USAGE`
 */
export async function runLoadStep(cluster: Cluster, plan: LoadPlan, options: LoadOptions): Promise<LoadStep> {
  const { signal, folder } = options;
  const script = findScript(plan.script);
  const k6 = await findK6(options.k6);
  const prepared = options.prepared ?? (await prepareLoad(cluster, plan, { signal }));
  const paths = pathsIn(folder);
  try {
    await mkdir(folder, { recursive: true });
    // That of an earlier load into the same folder would be taken for ours.
    await rm(paths.summary, { force: true });
  } catch (error) {
    throw cannotWrite(folder, error);
  }
  const { helper } = await bundle(script, paths.script);
  if (!helper && plan.warmupMs > 0) {
    throw new HarnessError(
      'USAGE',
      `--warmup: ${script.name} does not use svcnet/k6, so that nothing tells its warm-up from the rest`,
    );
  }
  const signed = script.facts.updates === true ? signUpdates(plan) : undefined;
  const about = { nodes: prepared.nodes, helper, paths, feeds: signed?.feeds };
  const data: LoadData = {
    objects: prepared.objects,
    signatures: signed?.updates.map(({ signed: text }) => text) ?? [],
  };
  await Promise.all([
    writeFile(paths.config, JSON.stringify(configOf(plan, about))),
    writeFile(paths.data, JSON.stringify(data)),
    // k6 reads the file of its user otherwise, which may say anything.
    writeFile(join(folder, 'k6.json'), '{}'),
  ]);
  const shape = await shapeOf(plan, script, { k6, folder, paths, signal });
  if (shape.ownMs !== undefined && options.planned === true) {
    throw new HarnessError(
      'USAGE',
      `--find-limit chooses the rate, but ${script.path} has scenarios of its own`,
      {
        hint: 'Leave scenarios, stages, vus, duration and iterations out of its options.',
      },
    );
  }
  // Rates are judged over the time that the script itself has chosen.
  const judged = { ...plan, durationMs: shape.ownMs ?? plan.durationMs };
  if (shape.ownMs !== undefined) await writeFile(paths.config, JSON.stringify(configOf(judged, about)));
  const book = new LoadBook(prepared.nodes, {
    ...shape,
    warmupMs: plan.warmupMs,
    recorder: options.recorder,
  });
  let toldAtMs = 0;
  const ended = await runK6({
    k6,
    folder,
    script: paths.script,
    config: paths.config,
    samples: helper ? undefined : paths.samples,
    authorization: authorizationOf(cluster),
    signal,
    onLines(lines) {
      for (const line of lines) book.take(line, helper);
      if (performance.now() - toldAtMs < PROGRESS_MS) return;
      toldAtMs = performance.now();
      options.onProgress?.(book.progress());
    },
  });
  const metrics = await readSummary(paths.summary);
  return book.step(judged, { metrics, helper, ended });
}

interface Paths {
  readonly script: string;
  readonly config: string;
  readonly data: string;
  readonly summary: string;
  readonly samples: string;
}

function pathsIn(folder: string): Paths {
  const at = (name: string) => join(folder, name);
  return {
    script: at('script.js'),
    config: at('config.json'),
    data: at('data.json'),
    summary: at('summary.json'),
    samples: at('samples.json'),
  };
}

function configOf(
  plan: LoadPlan,
  load: {
    nodes: readonly TargetNode[];
    helper: boolean;
    paths: Paths;
    feeds: LoadConfig['feeds'] | undefined;
  },
): LoadConfig {
  const seconds = plan.durationMs / 1000;
  const thresholds: Record<string, string[]> = {
    // Without a threshold k6 keeps no figures of a scenario; these always hold.
    [iterationsOf(MEASURED)]: [ALWAYS],
    [droppedOf(MEASURED)]: [ALWAYS],
  };
  for (const threshold of plan.thresholds) {
    const { metric, expression } = toK6(threshold, { seconds, helper: load.helper });
    thresholds[metric] = [...(thresholds[metric] ?? []), expression];
  }
  return {
    seed: plan.seed.toString(),
    label: plan.label,
    nodes: load.nodes,
    sizes: plan.sizes,
    mode: plan.mode,
    encrypt: plan.encrypt,
    redundancyLevel: plan.redundancyLevel,
    reads: plan.reads,
    readShare: plan.readShare,
    compareShare: plan.compareShare,
    files: plan.files,
    options: { scenarios: scenariosOf(plan), thresholds, summaryTrendStats: statsOf(plan.thresholds) },
    summary: load.paths.summary,
    data: load.paths.data,
    feeds: load.feeds ?? { owner: '', topics: [], size: FEED_UPDATE_BYTES, warmupUpdates: 0 },
  };
}

const ALWAYS = 'count>=0';
const iterationsOf = (scenario: string) => `iterations{scenario:${scenario}}`;
const droppedOf = (scenario: string) => `dropped_iterations{scenario:${scenario}}`;

interface Shape {
  /** How long the scenarios of the script itself last; undefined: it has none, and the plan's apply. */
  readonly ownMs: number | undefined;
  /** Of all of it, ms. */
  readonly totalMs: number;
}

function authorizationOf({ nodes }: Cluster): Record<string, string> {
  return Object.fromEntries(
    nodes.flatMap(({ name, client }) => Object.values(client.authorization()).map((value) => [name, value])),
  );
}

/** A script of a user may have scenarios of its own; k6 says what it would do. */
async function shapeOf(
  plan: LoadPlan,
  script: Script,
  { k6, paths, signal }: { k6: K6; folder: string; paths: Paths; signal: AbortSignal },
): Promise<Shape> {
  const planned = { ownMs: undefined, totalMs: plan.warmupMs + plan.durationMs };
  if (!script.own || k6.kind === 'container') return planned;
  const args = [
    'inspect',
    '--execution-requirements',
    '--env',
    `${CONFIG_VARIABLE}=${paths.config}`,
    paths.script,
  ];
  try {
    const { stdout } = await promisify(execFile)(k6.where, args, { signal });
    const { scenarios, totalDuration = '0s' } = JSON.parse(stdout) as Inspected;
    if (scenarios !== null && MEASURED in scenarios) return planned;
    const lengths = Object.values(scenarios ?? {}).map(lengthMs);
    // Scenarios that end after a number of iterations have no length but the limit that k6 gives them.
    const totalMs = lengths.length === 0 ? durationMs(totalDuration) : Math.max(...lengths);
    return { ownMs: totalMs, totalMs };
  } catch (error) {
    if (signal.aborted) throw error;
    const words = (error as { stderr?: string }).stderr ?? '';
    throw new HarnessError('USAGE', `k6 cannot read ${script.path}`, {
      cause: error,
      hint: words.trim() || messageOf(error),
    });
  }
}

/** What k6 says that it would do. */
interface Inspected {
  readonly scenarios: Readonly<Record<string, InspectedScenario>> | null;
  readonly totalDuration?: string;
}

interface InspectedScenario {
  readonly startTime?: string | null;
  readonly duration?: string | null;
  readonly stages?: readonly { readonly duration: string }[] | null;
  readonly maxDuration?: string | null;
}

function lengthMs({ startTime, duration, stages, maxDuration }: InspectedScenario): number {
  const own =
    stages?.reduce((sum, stage) => sum + durationMs(stage.duration), 0) ??
    durationMs(duration ?? maxDuration ?? '0s');
  return durationMs(startTime ?? '0s') + own;
}

/** Durations in k6's words, such as `1m30.5s`. */
function durationMs(text: string): number {
  return parseDurationMs(text) ?? 0;
}

type Metrics = Readonly<Record<string, SummaryMetric>>;

async function readSummary(path: string): Promise<Metrics> {
  try {
    return (JSON.parse(await readFile(path, 'utf8')) as { metrics: Metrics }).metrics;
  } catch (error) {
    throw new HarnessError('LOAD_FAILED', `k6 has ended without a summary: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** What has been heard of a load so far. */
class LoadBook {
  readonly #nodes: readonly TargetNode[];
  readonly #shape: Shape & { readonly warmupMs: number };
  readonly #sinks: readonly Pick<Recorder, 'succeeded' | 'failed'>[];
  readonly #own = createRecorder(() => 'unknown');
  readonly #latencies = Distribution.empty();
  readonly #failedIterations = new Set<number>();
  readonly #uploads: LoadUpload[] = [];
  /** Ends of the last seconds' operations, ms since the epoch. */
  #recent: number[] = [];
  #operations = 0;
  #errors = 0;
  #begunMs: number | undefined;
  #startMs: number | undefined;
  #endMs = 0;

  constructor(
    nodes: readonly TargetNode[],
    { recorder, ...shape }: Shape & { warmupMs: number; recorder: LoadOptions['recorder'] },
  ) {
    this.#nodes = nodes;
    this.#shape = shape;
    this.#sinks = recorder === undefined ? [this.#own] : [this.#own, recorder];
  }

  take(line: string, helper: boolean): void {
    const record = helper ? recordOf(line) : requestOf(line, this.#nodes);
    if (record === undefined) return;
    this.#begunMs ??= record.endMs;
    const { node, endMs, upload } = record;
    if (upload !== undefined) this.#uploads.push({ ...upload, node, acknowledgedAtMs: endMs });
    if (!('warmup' in record)) this.#measured(record);
  }

  #measured(record: Omit<OperationRecord, 'scenarioMs' | 'iteration'> & Partial<OperationRecord>): void {
    const { operation, node, endMs, latencyMs, failure, bytes = 0, subject } = record;
    this.#startMs ??= record.scenarioMs ?? endMs - (latencyMs ?? 0);
    this.#endMs = Math.max(this.#endMs, endMs);
    this.#recent.push(endMs);
    this.#operations++;
    const key = { operation, node };
    if (failure !== undefined) {
      this.#errors++;
      if (record.iteration !== undefined) this.#failedIterations.add(record.iteration);
      const mistake = { endMs, class: classOfFailure(failure), message: failure.message };
      for (const sink of this.#sinks) sink.failed(key, mistake);
      return;
    }
    const seen = { endMs, latencyMs: latencyMs ?? 0, bytes, ...(subject === undefined ? {} : { subject }) };
    this.#latencies.add(seen.latencyMs);
    for (const sink of this.#sinks) sink.succeeded(key, seen);
  }

  progress(): LoadProgress {
    const now = Date.now();
    this.#recent = this.#recent.filter((endMs) => now - endMs < RATE_WINDOW_MS);
    const goneMs = this.#begunMs === undefined ? 0 : now - this.#begunMs;
    const { totalMs } = this.#shape;
    return {
      rate: this.#recent.length / (Math.max(1000, Math.min(RATE_WINDOW_MS, goneMs)) / 1000),
      p95Ms: this.#latencies.percentileMs(95),
      operations: this.#operations,
      errors: this.#errors,
      goneMs: Math.min(goneMs, totalMs),
      totalMs,
    };
  }

  step(
    plan: LoadPlan,
    {
      metrics,
      helper,
      ended,
    }: { metrics: Metrics; helper: boolean; ended: { exitCode: number; cpu: number | undefined } },
  ): LoadStep {
    const seconds = Math.max(0.001, plan.durationMs / 1000);
    const judged = { seconds, helper };
    const isOwn = this.#shape.ownMs !== undefined;
    const count = (name: string, all: string) => metrics[isOwn ? all : name]?.values['count'] ?? 0;
    const started = count(iterationsOf(MEASURED), 'iterations');
    const startMs = this.#startMs ?? Date.now();
    return {
      startedRate: started / seconds,
      achievedRate: Math.max(0, started - this.#failedIterations.size) / seconds,
      dropped: count(droppedOf(MEASURED), 'dropped_iterations'),
      operations: this.#own.summaries(),
      thresholds: [
        ...plan.thresholds.map((threshold) => verdictOf(threshold, metrics, judged)),
        ...ownVerdicts(metrics, [
          ...plan.thresholds.map((threshold) => toK6(threshold, judged)),
          { metric: iterationsOf(MEASURED), expression: ALWAYS },
          { metric: droppedOf(MEASURED), expression: ALWAYS },
        ]),
      ],
      k6Cpu: ended.cpu,
      exitCode: ended.exitCode,
      startMs,
      endMs: Math.max(this.#endMs, startMs),
      uploads: this.#uploads,
    };
  }
}
