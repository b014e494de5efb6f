/**
 * What a run measured: per operation and node, how many, how many bytes, how long, which errors. Latencies go into
 * HDR histograms (1 µs to 1 h, three digits), so that percentiles are exact enough and merge across nodes.
 */
import { build, type Histogram } from 'hdr-histogram-js';

/** Latencies are recorded in whole microseconds. */
const MICROSECONDS_PER_MS = 1000;
const LATENCY_MICROSECONDS_MAX = 3_600_000_000;

export interface OperationKey {
  /** What was done, such as `upload file`. */
  readonly operation: string;
  /** Name of the node it was asked of. */
  readonly node: string;
}

/** One row of the result table. Rates are null when nothing was moved. */
export interface OperationSummary extends OperationKey {
  readonly count: number;
  readonly bytes: number;
  readonly errors: number;
  /** Errors by class of the taxonomy. */
  readonly errorClasses: Readonly<Record<string, number>>;
  /** Wall time from the first start to the last end, ms. */
  readonly wallMs: number;
  readonly mibPerSecond: number | null;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface Series extends OperationKey {
  readonly latencies: Histogram;
  bytes: number;
  errors: Map<string, number>;
  firstStartMs: number;
  lastEndMs: number;
}

export interface Recorder {
  /** Runs and times one operation; its errors are counted by class and thrown on. @returns what `work` returned */
  measure<T>(key: OperationKey, work: () => Promise<T>, bytesOf: (result: T) => number): Promise<T>;
  summaries(): OperationSummary[];
}

/** @param classify error → class of the taxonomy (`scenarios.md` 8.4) */
export function createRecorder(classify: (error: unknown) => string): Recorder {
  const all = new Map<string, Series>();
  const seriesOf = (key: OperationKey): Series => {
    const id = `${key.operation}\n${key.node}`;
    let series = all.get(id);
    if (series === undefined) {
      series = {
        operation: key.operation,
        node: key.node,
        latencies: build({
          lowestDiscernibleValue: 1,
          highestTrackableValue: LATENCY_MICROSECONDS_MAX,
          numberOfSignificantValueDigits: 3,
        }),
        bytes: 0,
        errors: new Map(),
        firstStartMs: Number.POSITIVE_INFINITY,
        lastEndMs: 0,
      };
      all.set(id, series);
    }
    return series;
  };
  return {
    async measure(key, work, bytesOf) {
      const series = seriesOf(key);
      const startMs = performance.now();
      series.firstStartMs = Math.min(series.firstStartMs, startMs);
      try {
        const result = await work();
        const endMs = performance.now();
        series.latencies.recordValue(Math.max(1, Math.round((endMs - startMs) * MICROSECONDS_PER_MS)));
        series.bytes += bytesOf(result);
        series.lastEndMs = Math.max(series.lastEndMs, endMs);
        return result;
      } catch (error) {
        const kind = classify(error);
        series.errors.set(kind, (series.errors.get(kind) ?? 0) + 1);
        series.lastEndMs = Math.max(series.lastEndMs, performance.now());
        throw error;
      }
    },
    summaries: () => [...all.values()].map(summarise),
  };
}

function summarise(series: Series): OperationSummary {
  const wallMs = Math.max(0, series.lastEndMs - series.firstStartMs);
  const percentileMs = (p: number) =>
    series.latencies.totalCount === 0 ? 0 : series.latencies.getValueAtPercentile(p) / MICROSECONDS_PER_MS;
  return {
    operation: series.operation,
    node: series.node,
    count: series.latencies.totalCount,
    bytes: series.bytes,
    errors: [...series.errors.values()].reduce((sum, n) => sum + n, 0),
    errorClasses: Object.fromEntries(series.errors),
    wallMs,
    mibPerSecond: series.bytes > 0 && wallMs > 0 ? series.bytes / 2 ** 20 / (wallMs / 1000) : null,
    p50Ms: percentileMs(50),
    p95Ms: percentileMs(95),
    p99Ms: percentileMs(99),
    maxMs: series.latencies.totalCount === 0 ? 0 : series.latencies.maxValue / MICROSECONDS_PER_MS,
  };
}
