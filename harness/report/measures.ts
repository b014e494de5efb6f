import { grouped, plural } from '../base/format.ts';
import { Distribution, type LatencySummary } from '../metrics/distribution.ts';
import type { OperationSummary } from '../metrics/recorder.ts';
import { byteSize, duration, type Unit } from '../web/base/format.ts';
import type { Resources } from './resources.ts';
import type { RunCosts, RunResult, ScenarioResult } from './result.ts';

export interface OperationTotal extends Omit<LatencySummary, 'histogram'> {
  readonly operation: string;
  readonly nodes: number;
  readonly count: number;
  readonly bytes: number;
  readonly errors: number;
  /** From first start to last end on any node, as windows show. */
  readonly mibPerSecond: number | null;
  /** Successful ones, over the same time. */
  readonly perSecond: number | null;
}

const known = new WeakMap<ScenarioResult, readonly OperationTotal[]>();

export function operationTotals(scenario: ScenarioResult): readonly OperationTotal[] {
  const totals = known.get(scenario) ?? totalsOf(scenario);
  known.set(scenario, totals);
  return totals;
}

function totalsOf({ metrics, timelines }: ScenarioResult): OperationTotal[] {
  const byOperation = Map.groupBy(metrics, ({ operation }) => operation);
  return Array.from(byOperation, ([operation, rows]) => {
    const { histogram: _histogram, ...latencies } = Distribution.merged(
      rows.map((row) => Distribution.of(row)),
    ).summary();
    const [bytes, count] = [sum(rows, (row) => row.bytes), sum(rows, (row) => row.count)];
    const [only] = rows.length === 1 ? rows : [];
    const seconds = only === undefined ? sharedSeconds(operation) : only.wallMs / 1000;
    const rate = (amount: number) => (seconds === null || seconds === 0 ? null : amount / seconds);
    return {
      operation,
      nodes: rows.length,
      count,
      bytes,
      errors: sum(rows, (row) => row.errors),
      mibPerSecond: bytes === 0 ? null : rate(bytes / 2 ** 20),
      perSecond: count < 2 ? null : rate(count),
      ...latencies,
    };
  });

  /** Nodes work in turn or together: only the windows in which an operation ended are shared. */
  function sharedSeconds(operation: string): number | null {
    const timeline = timelines.find((one) => one.operation === operation);
    if (timeline === undefined) return null;
    const busy = timeline.count.filter((ended) => ended > 0).length;
    const longest = Math.max(
      ...metrics.filter((row) => row.operation === operation).map(({ wallMs }) => wallMs),
    );
    return Math.max(busy * timeline.windowMs, longest) / 1000;
  }
}

export interface Headline {
  readonly title: string;
  readonly value: number | null;
  readonly unit: Unit;
  /** In smaller type. */
  readonly detail: string;
  readonly verdict?: 'good' | 'bad';
}

/** The tables have all. */
const OPERATIONS_MAX = 4;

/** Failures come first. */
export function headlines(scenario: ScenarioResult): Headline[] {
  const all = numbersOf(scenario);
  return [
    ...all.filter(({ verdict }) => verdict === 'bad'),
    ...all.filter(({ verdict }) => verdict !== 'bad'),
  ];
}

function numbersOf(scenario: ScenarioResult): Headline[] {
  const totals = operationTotals(scenario);
  const moving = totals.filter(({ bytes }) => bytes > 0).toSorted((a, b) => b.bytes - a.bytes);
  const timed = totals.filter(({ count }) => count > 0).toSorted((a, b) => b.count - a.count);
  const count = sum(totals, (one) => one.count);
  const errors = sum(totals, (one) => one.errors);
  const { acknowledged, found, missing } = scenario.ledger;
  return [
    ...moving.slice(0, OPERATIONS_MAX).map(
      ({ operation, mibPerSecond, bytes, nodes }): Headline => ({
        title: operation,
        value: mibPerSecond,
        unit: 'MiB/s',
        detail: `${byteSize(bytes)} on ${plural(nodes, 'node')}`,
      }),
    ),
    ...timed
      .filter(({ p50Ms }) => p50Ms !== null)
      .slice(0, OPERATIONS_MAX)
      .map(
        (one): Headline => ({
          title: `${one.operation}, median`,
          value: one.p50Ms,
          unit: 'ms',
          detail:
            one.p99Ms === null
              ? `n = ${grouped(one.count)}, too few for p99`
              : `p99 ${duration(one.p99Ms)}, n = ${grouped(one.count)}`,
        }),
      ),
    ...(count + errors === 0
      ? []
      : [
          {
            title: 'errors',
            value: errors,
            unit: 'count',
            detail: `of ${grouped(count + errors)} operations`,
            verdict: errors === 0 ? 'good' : 'bad',
          } satisfies Headline,
        ]),
    // How many are lost is not known before all have been looked for.
    ...(found + missing === 0
      ? []
      : [
          {
            title: 'chunks lost',
            value: missing,
            unit: 'count',
            detail: `of ${grouped(acknowledged)} acknowledged`,
            verdict: missing === 0 ? 'good' : 'bad',
          } satisfies Headline,
        ]),
  ];
}

export function costsOf(scenarios: readonly Pick<ScenarioResult, 'metrics'>[], used: Resources): RunCosts {
  const moved = movedBy(scenarios);
  const peaks = used.nodes.flatMap(({ memory }) => memory?.peak ?? []);
  return {
    ...(moved === 0 || Number.isNaN(used.cpuSeconds)
      ? {}
      : { cpuSecondsPerGb: used.cpuSeconds / (moved / 1e9) }),
    ...(peaks.length === 0 ? {} : { peakMemory: Math.max(...peaks) }),
  };
}

/** What one part does not know is not known. Parts without a cluster, whose scenarios were skipped, are left out. */
export function costsOfParts(parts: readonly Pick<RunResult, 'scenarios' | 'series' | 'costs'>[]): RunCosts {
  const started = parts.filter(({ series }) => series !== undefined);
  const known = started.map(({ scenarios, costs = {} }) => ({
    ...costs,
    moved: movedBy(scenarios),
  }));
  // A part that moved nothing says nothing of bytes' cost.
  const movers = known.filter(({ moved }) => moved > 0);
  const cpu = sum(movers, ({ cpuSecondsPerGb = Number.NaN, moved }) => cpuSecondsPerGb * moved);
  const peak = Math.max(...known.map(({ peakMemory = Number.NaN }) => peakMemory));
  return {
    ...(movers.length === 0 || Number.isNaN(cpu)
      ? {}
      : { cpuSecondsPerGb: cpu / sum(movers, ({ moved }) => moved) }),
    ...(known.length === 0 || Number.isNaN(peak) ? {} : { peakMemory: peak }),
  };
}

function movedBy(scenarios: readonly Pick<ScenarioResult, 'metrics'>[]): number {
  return sum(
    scenarios.flatMap(({ metrics }) => metrics),
    ({ bytes }) => bytes,
  );
}

/** Below it, CPU time per GB is that of starting and idling. */
const MOVED_MIN = 1e8;

export function usageHeadlines({ scenarios }: RunResult, used: Resources | undefined): Headline[] {
  if (used === undefined) return [];
  const { cpuSecondsPerGb, peakMemory } = costsOf(scenarios, used);
  const largest = used.nodes.find(({ memory }) => memory !== undefined && memory.peak === peakMemory)?.node;
  return [
    ...(cpuSecondsPerGb === undefined || movedBy(scenarios) < MOVED_MIN
      ? []
      : [
          {
            title: 'CPU time per GB moved',
            value: cpuSecondsPerGb,
            unit: 's',
            detail: `${duration(used.cpuSeconds * 1000)} on all nodes`,
          } satisfies Headline,
        ]),
    ...(peakMemory === undefined
      ? []
      : [
          {
            title: 'peak memory of a node',
            value: peakMemory,
            unit: 'bytes',
            detail: largest === 'all' ? 'all nodes in one process' : (largest ?? ''),
          } satisfies Headline,
        ]),
  ];
}

/** Jain's index: 1 when all did the same, 1/n when one did everything. */
export function fairness(loads: readonly number[]): number | null {
  const total = sum(loads, (load) => load);
  return total === 0 ? null : total ** 2 / (loads.length * sum(loads, (load) => load ** 2));
}

/** Most first. */
export function errorClasses(
  metrics: readonly OperationSummary[],
): { kind: string; count: number; example: string; where: string }[] {
  const all = new Map<string, { count: number; example: string; where: string }>();
  for (const { operation, node, errorClasses: classes, errorExamples } of metrics) {
    for (const [kind, count] of Object.entries(classes)) {
      const before = all.get(kind) ?? {
        count: 0,
        example: errorExamples[kind] ?? '',
        where: `${operation} on ${node}`,
      };
      all.set(kind, { ...before, count: before.count + count });
    }
  }
  return Array.from(all, ([kind, rest]) => ({ kind, ...rest })).toSorted((a, b) => b.count - a.count);
}

export function sum<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((total, one) => total + of(one), 0);
}
