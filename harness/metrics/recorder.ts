import type { Clock } from '../../formats/clock.ts';
import { Distribution, type LatencySummary } from './distribution.ts';
import { type OperationTimeline, TimelineRecorder } from './timeline.ts';

const SLOWEST_KEPT = 20;
const EXAMPLE_LENGTH_MAX = 500;

/** Name of an operation and of the node it was sent to; identifies a row of the report. */
export interface OperationKey {
  /** What was done, such as `upload file`. */
  readonly operation: string;
  /** Name of the node it was sent to. */
  readonly node: string;
}

/** A row of the result table. Rates are null when nothing was moved. */
export interface OperationSummary extends OperationKey, LatencySummary {
  /** Operations that succeeded: the latencies cover only these. */
  readonly count: number;
  /** Payload that they moved. */
  readonly bytes: number;
  /** Operations that failed. */
  readonly errors: number;
  /** Errors by class of the taxonomy. */
  readonly errorClasses: Readonly<Record<string, number>>;
  /** The first message of each class. */
  readonly errorExamples: Readonly<Record<string, string>>;
  /** From the first start to the last end, ms. */
  readonly wallMs: number;
  /** Payload over `wallMs`, MiB (2^20 bytes) per second. */
  readonly mibPerSecond: number | null;
  /** Operations that succeeded over `wallMs`, per second; null: fewer than two. */
  readonly perSecond: number | null;
}

/** One of the longest operations. */
export interface SlowOperation extends OperationKey {
  /** How long it took, milliseconds. */
  readonly ms: number;
  /** When it ended, ms since the epoch. */
  readonly endMs: number;
  /** What it operated on, such as a reference. */
  readonly subject?: string | undefined;
}

/** Times are ms since the epoch. */
export interface TimedOperation {
  readonly endMs: number;
  /** From the intended start, if known. */
  readonly latencyMs: number;
  readonly bytes: number;
  readonly subject?: string | undefined;
}

/** An operation that failed. */
export interface FailedOperation {
  readonly endMs: number;
  readonly class: string;
  readonly message: string;
}

interface Series extends OperationKey {
  readonly latencies: Distribution;
  bytes: number;
  errors: Map<string, number>;
  examples: Map<string, string>;
  firstStartMs: number;
  lastEndMs: number;
}

/** Collects durations and errors. */
export interface Recorder {
  /**
   * Times an operation; counts its error by class and rethrows it.
   * @returns what `work` returned
   */
  measure<T>(
    key: OperationKey,
    work: () => Promise<T>,
    bytesOf: (result: T) => number,
    intendedMs?: number,
  ): Promise<T>;
  succeeded(key: OperationKey, timed: TimedOperation): void;
  failed(key: OperationKey, failure: FailedOperation): void;
  summaries(): OperationSummary[];
  /** In the order in which the operations first occurred. */
  timelines(): OperationTimeline[];
  /** Longest first. */
  slowest(): SlowOperation[];
}

/**
 * @param clock for its own measurements
 * @param classify error → class of the taxonomy (`scenarios.md` 8.4)
 * @param listener hears of every operation
 */
export function createRecorder(
  clock: Clock,
  classify: (error: unknown) => string,
  listener?: Pick<Recorder, 'succeeded' | 'failed'>,
): Recorder {
  const all = new Map<string, Series>();
  const timelines = new Map<string, TimelineRecorder>();
  let slowest: SlowOperation[] = [];

  const seriesOf = ({ operation, node }: OperationKey): Series =>
    obtain(all, `${operation}\n${node}`, () => ({
      operation,
      node,
      latencies: Distribution.empty(),
      bytes: 0,
      errors: new Map(),
      examples: new Map(),
      firstStartMs: Number.POSITIVE_INFINITY,
      lastEndMs: 0,
    }));
  const timelineOf = ({ operation }: OperationKey) =>
    obtain(timelines, operation, () => new TimelineRecorder());
  const span = (series: Series, startMs: number, endMs: number): void => {
    series.firstStartMs = Math.min(series.firstStartMs, startMs);
    series.lastEndMs = Math.max(series.lastEndMs, endMs);
  };

  function succeeded(key: OperationKey, timed: TimedOperation): void {
    listener?.succeeded(key, timed);
    const { endMs, latencyMs, bytes, subject } = timed;
    const series = seriesOf(key);
    series.latencies.add(latencyMs);
    series.bytes += bytes;
    span(series, endMs - latencyMs, endMs);
    timelineOf(key).succeeded(endMs, latencyMs, bytes);
    const least = slowest.at(-1);
    if (slowest.length === SLOWEST_KEPT && least !== undefined && latencyMs <= least.ms) return;
    const { operation, node } = key;
    const slow = { operation, node, ms: latencyMs, endMs, subject };
    slowest = [...slowest, slow].toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_KEPT);
  }

  function failed(key: OperationKey, failure: FailedOperation): void {
    listener?.failed(key, failure);
    const { endMs, class: kind, message } = failure;
    const series = seriesOf(key);
    series.errors.set(kind, (series.errors.get(kind) ?? 0) + 1);
    obtain(series.examples, kind, () => message.slice(0, EXAMPLE_LENGTH_MAX));
    span(series, endMs, endMs);
    timelineOf(key).failed(endMs);
  }

  return {
    succeeded,
    failed,
    async measure(key, work, bytesOf, intendedMs) {
      const startMs = intendedMs ?? clock.monotonic();
      const startedAt = clock.now() - (clock.monotonic() - startMs);
      const series = seriesOf(key);
      span(series, startedAt, startedAt);
      // The wall clock may jump: the end is the start plus monotonic time.
      try {
        const result = await work();
        const latencyMs = clock.monotonic() - startMs;
        succeeded(key, { endMs: startedAt + latencyMs, latencyMs, bytes: bytesOf(result) });
        return result;
      } catch (error) {
        const endMs = startedAt + clock.monotonic() - startMs;
        failed(key, {
          endMs,
          class: classify(error),
          message: error instanceof Error ? error.message : String(error),
        });
        throw error;
      }
    },
    summaries: () => [...all.values()].map(summarise),
    timelines: () =>
      Array.from(timelines, ([operation, recorder]) => recorder.timeline(operation)).filter(
        (timeline) => timeline !== undefined,
      ),
    slowest: () => slowest,
  };
}

function obtain<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}

function summarise(series: Series): OperationSummary {
  const wallMs = Math.max(0, series.lastEndMs - series.firstStartMs);
  return {
    operation: series.operation,
    node: series.node,
    count: series.latencies.count,
    bytes: series.bytes,
    errors: [...series.errors.values()].reduce((sum, n) => sum + n, 0),
    errorClasses: Object.fromEntries(series.errors),
    errorExamples: Object.fromEntries(series.examples),
    wallMs,
    mibPerSecond: series.bytes > 0 && wallMs > 0 ? series.bytes / 2 ** 20 / (wallMs / 1000) : null,
    perSecond: series.latencies.count > 1 && wallMs > 0 ? series.latencies.count / (wallMs / 1000) : null,
    ...series.latencies.summary(),
  };
}
