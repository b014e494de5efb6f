import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { type ClientErrorClass, classOfAnswer } from '../../client/errors.ts';
import { Distribution } from '../../metrics/distribution.ts';
import { createRecorder, type Recorder } from '../../metrics/recorder.ts';
import { type FailureRecord, type OperationRecord, RECORD_MARK, type TargetNode } from './k6/config.ts';
import { MEASURED, WARMUP } from './k6/executors.ts';
import { type K6Ended, MARKED_AS_FAILED } from './k6/k6-run.ts';
import { messageIn, type ScriptException } from './k6/log.ts';
import type { Shape } from './k6/shape.ts';
import type { LoadOptions, LoadPlan, LoadProgress, LoadStep, LoadUpload } from './plan.ts';
import { ownVerdicts, type SummaryMetric, toK6, verdictOf } from './thresholds.ts';

const RATE_WINDOW_MS = 3000;
/** Always holds; without a threshold k6 keeps no figures of a scenario. */
export const ALWAYS = 'count>=0';
export const ITERATIONS = `iterations{scenario:${MEASURED}}`;
export const DROPPED = `dropped_iterations{scenario:${MEASURED}}`;

type Row = Pick<OperationRecord, 'operation' | 'node'>;
const ROWS_MAX = 200;
const OTHER_ROW: Row = { operation: 'other', node: 'other' };

export type Metrics = Readonly<Record<string, SummaryMetric>>;

export class LoadBook {
  readonly #nodes: readonly TargetNode[];
  readonly #shape: Shape & { readonly warmupMs: number };
  readonly #sinks: readonly Pick<Recorder, 'succeeded' | 'failed'>[];
  readonly #own = createRecorder(MACHINE_CLOCK, () => 'unknown');
  readonly #latencies = Distribution.empty();
  readonly #rows = new Map<string, Row>();
  readonly #failedIterations = new Set<number>();
  readonly #uploads: LoadUpload[] = [];
  #exceptions = 0;
  #brokenOff = 0;
  #firstException: string | undefined;
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
    const { endMs, latencyMs, failure, bytes = 0, subject } = record;
    const { operation, node } = this.#rowOf(record);
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
    const seen = { endMs, latencyMs: latencyMs ?? 0, bytes, subject };
    this.#latencies.add(seen.latencyMs);
    for (const sink of this.#sinks) sink.succeeded(key, seen);
  }

  /** A table of thousands of rows tells nobody anything, and each of them keeps its latencies. */
  #rowOf({ operation, node }: Pick<OperationRecord, 'operation' | 'node'>): Row {
    const key = JSON.stringify([operation, node]);
    const row = this.#rows.get(key) ?? (this.#rows.size < ROWS_MAX ? { operation, node } : OTHER_ROW);
    if (row !== OTHER_ROW) this.#rows.set(key, row);
    return row;
  }

  threw({ scenario, message }: ScriptException): void {
    this.#exceptions++;
    if (scenario !== WARMUP) this.#brokenOff++;
    this.#firstException ??= message;
  }

  progress(): LoadProgress {
    const now = MACHINE_CLOCK.now();
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
    { metrics, helper, ended }: { metrics: Metrics; helper: boolean; ended: K6Ended },
  ): LoadStep {
    const seconds = Math.max(0.001, plan.durationMs / 1000);
    const judged = { seconds, helper };
    const isOwn = this.#shape.ownMs !== undefined;
    const count = (name: string, all: string) => metrics[isOwn ? all : name]?.values['count'] ?? 0;
    const started = count(ITERATIONS, 'iterations');
    const startMs = this.#startMs ?? MACHINE_CLOCK.now();
    return {
      startedRate: started / seconds,
      // A failed and thrown iteration counts twice: at least so many succeeded.
      achievedRate: Math.max(0, started - this.#failedIterations.size - this.#brokenOff) / seconds,
      exceptions: { count: this.#exceptions, first: this.#firstException },
      markedFailed: ended.exitCode === MARKED_AS_FAILED,
      dropped: count(DROPPED, 'dropped_iterations'),
      operations: this.#own.summaries(),
      thresholds: [
        ...plan.thresholds.map((threshold) => verdictOf(threshold, metrics, judged)),
        ...ownVerdicts(metrics, [
          ...plan.thresholds.map((threshold) => toK6(threshold, judged)),
          { metric: ITERATIONS, expression: ALWAYS },
          { metric: DROPPED, expression: ALWAYS },
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

export function recordOf(line: string): OperationRecord | undefined {
  const text = messageIn(line);
  if (!text.startsWith(RECORD_MARK)) return undefined;
  try {
    return JSON.parse(text.slice(RECORD_MARK.length)) as OperationRecord;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** k6's error codes of requests without an answer (its documentation, Error codes), as ranges. */
const CLASS_OF_CODE: readonly (readonly [from: number, to: number, ClientErrorClass])[] = [
  [1050, 1050, 'client.timeout'],
  [1100, 1199, 'client.connect'],
  [1210, 1219, 'client.connect'],
  [1200, 1299, 'client.reset'],
  [1500, 1599, 'client.short_body'],
  [1600, 1699, 'client.reset'],
  [1700, 1799, 'client.short_body'],
];

/** `scenarios.md` 8.4. */
export function classOfFailure({ class: known, status = 0, code = 0, message }: FailureRecord): string {
  if (known !== undefined) return known;
  if (status !== 0) return classOfAnswer(status, message);
  return CLASS_OF_CODE.find(([from, to]) => code >= from && code <= to)?.[2] ?? 'client.reset';
}

interface Sample {
  readonly metric: string;
  readonly type: string;
  readonly data: {
    readonly time: string;
    readonly value: number;
    readonly tags?: Readonly<Record<string, string>>;
  };
}

export function requestOf(
  line: string,
  nodes: readonly TargetNode[],
): Omit<OperationRecord, 'scenarioMs' | 'iteration'> | undefined {
  if (!line.includes('"metric":"http_req_duration"') || !line.includes('"type":"Point"')) return undefined;
  const { data } = JSON.parse(line) as Sample;
  const tags = data.tags ?? {};
  // Others' modules lack our tags: k6 names them by URL.
  const { name = '', method = 'GET' } = tags;
  const node = tags['node'] ?? nodes.find(({ api }) => name.startsWith(api))?.name ?? hostOf(name);
  const operation = tags['endpoint'] ?? `${method} ${pathOf(name)}`;
  const endMs = Date.parse(data.time);
  if (tags['expected_response'] !== 'false')
    return { operation, node, endMs, latencyMs: data.value, bytes: 0 };
  const message = tags['error'] ?? `${operation}: answered with ${tags['status']}`;
  const failure = { status: Number(tags['status'] ?? 0), code: Number(tags['error_code'] ?? 0), message };
  return { operation, node, endMs, failure: failure.status === 0 ? failure : { ...failure, message: '' } };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

function pathOf(url: string): string {
  if (!URL.canParse(url)) return url;
  return `/${new URL(url).pathname.split('/')[1] ?? ''}`;
}
