import { type Exposition, type MetricFamily, type Sample, seriesKey } from './exposition.ts';
import { keptName } from './kept-series.ts';
import { gained } from './series.ts';

export type Unit = 's' | 'ns' | 'bytes' | 'accounting units' | 'token units' | '';

export interface MetricRow {
  /** Without the dialect's prefix. */
  readonly name: string;
  readonly labels: Sample['labels'];
  readonly kind: MetricFamily['kind'];
  readonly help: string;
  readonly unit: Unit;
  /** Nodes that have it. */
  readonly nodes: number;
  readonly total: number | null;
  /** A histogram's count. */
  readonly min: number;
  readonly median: number;
  readonly max: number;
  readonly mean: number | null;
  /** Growth between two readings, of nodes with both; null: gauges, or no such nodes. */
  readonly perSecond: number | null;
}

export interface MetricsSnapshot {
  readonly node: string;
  readonly exposition: Exposition;
  /** Monotonic. */
  readonly atMs: number;
}

interface Value {
  readonly value: number;
  readonly mean?: number;
}
type Values = Map<string, Value & Pick<MetricsSnapshot, 'atMs'>>;
type Row = Pick<MetricRow, 'name' | 'labels' | 'kind' | 'help'>;

/**
 * @param snapshots one per node @param before earlier readings, for rates: nodes without one are in no rate, new series
 *   count from zero
 * @returns sorted by name
 */
export function summarise(
  snapshots: readonly MetricsSnapshot[],
  before: readonly MetricsSnapshot[] = [],
): MetricRow[] {
  const rows = new Map<string, { readonly row: Row; readonly values: Values }>();
  for (const { node, exposition, atMs } of snapshots) {
    for (const { key, row, value } of valuesOf(exposition)) {
      const known = rows.get(key) ?? { row, values: new Map() };
      rows.set(key, known);
      known.values.set(node, { ...value, atMs });
    }
  }
  const earlier = new Map(
    before.map(({ node, exposition, atMs }) => [
      node,
      { values: new Map(Array.from(valuesOf(exposition), ({ key, value }) => [key, value.value])), atMs },
    ]),
  );
  const rate = (key: string, values: Values): number | null => {
    const rates = Array.from(values).flatMap(([node, { value, atMs }]) => {
      const old = earlier.get(node);
      if (old === undefined) return [];
      return [gained(old.values.get(key) ?? 0, value) / ((atMs - old.atMs) / 1000)];
    });
    return rates.length === 0 ? null : rates.reduce((sum, n) => sum + n, 0);
  };
  return Array.from(rows, ([key, { row, values }]) => {
    const counts = row.kind === 'counter' || row.kind === 'histogram' || row.kind === 'summary';
    return rowOf(row, [...values.values()], counts ? rate(key, values) : null);
  }).toSorted((a, b) => (seriesKey(a) < seriesKey(b) ? -1 : 1));
}

function rowOf(row: Row, values: readonly Value[], perSecond: number | null): MetricRow {
  const sorted = values.map(({ value }) => value).toSorted((a, b) => a - b);
  const sum = sorted.reduce((total, value) => total + value, 0);
  const means = values.reduce((total, { value, mean = 0 }) => total + value * mean, 0);
  const isWhole = row.kind === 'histogram' || row.kind === 'summary';
  return {
    ...row,
    unit: unitOf(row.name),
    nodes: sorted.length,
    total: row.kind === 'counter' || isWhole ? sum : null,
    min: sorted[0] as number,
    median: medianOf(sorted),
    max: sorted[sorted.length - 1] as number,
    mean: isWhole && sum > 0 ? means / sum : null,
    perSecond,
  };
}

/** @param sorted at least one */
function medianOf(sorted: readonly number[]): number {
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** A histogram or summary is one value: its count, with the mean. */
function* valuesOf({ families, samples }: Exposition): Iterable<{ key: string; row: Row; value: Value }> {
  const sums = new Map<string, number>();
  for (const { name, labels, value } of samples) {
    const part = /^(.*)_(sum|count|bucket)$/.exec(name);
    const whole = part === null ? undefined : families.get(part[1] as string);
    const family = families.get(name) ?? whole;
    const isPart = families.get(name) === undefined && whole !== undefined;
    const row: Row = {
      name: keptName(isPart ? whole.name : name),
      labels,
      kind: family?.kind ?? 'untyped',
      help: family?.help ?? '',
    };
    const key = seriesKey(row);
    if (isPart && part?.[2] === 'sum') sums.set(key, value);
    if (isPart && part?.[2] === 'count')
      yield { key, row, value: { value, mean: value === 0 ? 0 : (sums.get(key) ?? 0) / value } };
    // A summary's quantiles are no separate values.
    if (!isPart && row.kind !== 'summary' && row.kind !== 'histogram') yield { key, row, value: { value } };
  }
}

function unitOf(name: string): Unit {
  if (/^postage_listener_(page|event)_duration$/.test(name)) return 'ns';
  if (/_bytes(_total)?$|^api_(up|down)load_speed$/.test(name)) return 'bytes';
  if (/seconds(_total)?$|_time$|duration|^salud_.*dur$|latency_ewma$/.test(name)) return 's';
  if (/^swap_(total_received|available_balance)$/.test(name)) return 'token units';
  if (/^accounting_.*amount$|^pseudosettle_total_|^swap_total_sent$|_price$/.test(name))
    return 'accounting units';
  return '';
}
