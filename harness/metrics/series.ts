import type { MetricFamily, Sample } from './exposition.ts';

export interface SeriesId extends Omit<Sample, 'value'> {
  /** Absent: the harness. */
  readonly node?: string | undefined;
  readonly kind: MetricFamily['kind'];
}

/** The name lacks the dialect's prefix: `pushsync_total_sent` of all flavours. */
export interface Series extends SeriesId {
  /** `NaN`: no answer, or not reported. */
  readonly values: Float64Array;
}

export interface SeriesColumns {
  /** Of the scrapes, ms since the epoch; ascending in each cluster. */
  readonly times: Float64Array;
  /** Whose scrapes these are: numbers of the run's clusters, from 1. */
  readonly clusters: readonly number[];
  readonly series: readonly Series[];
}

export type Rows = readonly [from: number, to: number];

/** Of each cluster: one is read after the other. A simulated one begins at the instant at which the one before it began. */
export function rowsByCluster({ clusters }: Pick<SeriesColumns, 'clusters'>): ReadonlyMap<number, Rows> {
  const rows = new Map<number, Rows>();
  for (const [row, cluster] of clusters.entries())
    rows.set(cluster, [rows.get(cluster)?.[0] ?? row, row + 1]);
  return rows;
}

/**
 * Gain per second since the previous value: `NaN` at gaps and at the first. A fallen counter restarted at zero.
 * @param times ms
 */
export function rate(times: ArrayLike<number>, values: ArrayLike<number>): Float64Array {
  const rates = new Float64Array(values.length).fill(Number.NaN);
  let before = -1;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) continue;
    if (before >= 0) {
      const seconds = ((times[i] as number) - (times[before] as number)) / 1000;
      if (seconds > 0) rates[i] = gained(values[before] as number, values[i] as number) / seconds;
    }
    before = i;
  }
  return rates;
}

/** A counter's gain from first to last value, across restarts; `NaN`: no values. */
export function increase(values: ArrayLike<number>): number {
  let total = Number.NaN;
  let before: number | undefined;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    total = before === undefined ? 0 : total + gained(before, value);
    before = value;
  }
  return total;
}

export function gained(before: number, after: number): number {
  return after < before ? after : after - before;
}
