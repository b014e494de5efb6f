import { Distribution } from '../../metrics/distribution.ts';
import type { OperationSummary } from '../../metrics/recorder.ts';
import type { OperationTimeline } from '../../metrics/timeline.ts';
import { type RunResult, type ScenarioResult, titlesOf } from '../result.ts';
import { mean, type Share, weightedMedian } from './statistics.ts';

export interface FigureKey {
  readonly scenario: string;
  /** Operation or cost. */
  readonly what: string;
  readonly of?: string | undefined;
  readonly figure: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
}

export interface Reading {
  /** Null: too few samples. */
  readonly value: number | null;
  readonly share?: Share;
  readonly windows?: WindowSeries;
}

/** Windows, and a statistic of any selection that moves as the figure does. */
export interface WindowSeries {
  readonly windows: readonly Window[];
  readonly statistic: (windows: readonly Window[]) => number;
}

export interface Window {
  readonly count: number;
  readonly bytes: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export interface RunFigure extends FigureKey, Reading {}

const LATENCIES = [
  { figure: 'p50', percent: 50 },
  { figure: 'p90', percent: 90 },
  { figure: 'p99', percent: 99 },
] as const;

export function figuresOf(run: RunResult, scenario: string): RunFigure[] {
  const result = run.scenarios[titlesOf(run.scenarios).indexOf(scenario)];
  return result === undefined ? [] : operationFigures(scenario, result);
}

export function costFigures({
  scenarios,
  costs: { cpuSecondsPerGb, peakMemory } = {},
}: RunResult): RunFigure[] {
  const scenario = scenarios.map(({ name }) => name).join(', ');
  const cost = { scenario, figure: 'value', better: 'lower' } as const;
  return [
    ...(cpuSecondsPerGb === undefined
      ? []
      : [{ ...cost, what: 'CPU time per GB moved', unit: 's', value: cpuSecondsPerGb }]),
    ...(peakMemory === undefined
      ? []
      : [{ ...cost, what: 'peak memory of a node', unit: 'MiB', value: peakMemory / 2 ** 20 }]),
  ];
}

function operationFigures(scenario: string, { metrics, timelines }: ScenarioResult): RunFigure[] {
  const operations = [...new Set(metrics.map(({ operation }) => operation))];
  return operations.flatMap((operation) => {
    const rows = metrics.filter((row) => row.operation === operation);
    const timeline = timelines.find((one) => one.operation === operation);
    const all = rowFigures({ scenario, what: operation }, rows, timeline);
    const each = rows.flatMap((row) => rowFigures({ scenario, what: operation, of: row.node }, [row]));
    return [...all, ...each];
  });
}

function rowFigures(
  key: Pick<FigureKey, 'scenario' | 'what' | 'of'>,
  rows: readonly OperationSummary[],
  timeline?: OperationTimeline,
): RunFigure[] {
  const latencies = Distribution.merged(rows.map((row) => Distribution.of(row)));
  const sum = (of: (row: OperationSummary) => number) => rows.reduce((total, row) => total + of(row), 0);
  const seconds = Math.max(...rows.map(({ wallMs }) => wallMs)) / 1000;
  const [count, bytes, errors] = [sum((row) => row.count), sum((row) => row.bytes), sum((row) => row.errors)];
  const windows = timeline === undefined ? undefined : windowsOf(timeline);
  const series = (statistic: WindowSeries['statistic']) =>
    windows === undefined ? {} : { windows: { windows, statistic } };
  const perSecond = (amount: number) => (seconds > 0 ? amount / seconds : null);
  const rate: RunFigure =
    bytes > 0
      ? {
          ...key,
          figure: 'throughput',
          unit: 'MiB/s',
          better: 'higher',
          value: perSecond(bytes / 2 ** 20),
          ...series((drawn) => mean(drawn.map((window) => window.bytes))),
        }
      : {
          ...key,
          figure: 'throughput',
          unit: '1/s',
          better: 'higher',
          value: perSecond(count),
          ...series((drawn) => mean(drawn.map((window) => window.count))),
        };
  return [
    rate,
    ...LATENCIES.map(
      ({ figure, percent }): RunFigure => ({
        ...key,
        figure,
        unit: 'ms',
        better: 'lower',
        value: latencies.percentileMs(percent),
        // Windows have no p90; p99 varies more, so the interval is rather too wide.
        ...series(percent === 50 ? typicalMedian : typicalTail),
      }),
    ),
    {
      ...key,
      figure: 'errors',
      unit: '%',
      better: 'lower',
      value: count + errors === 0 ? null : (100 * errors) / (count + errors),
      share: { count: errors, total: count + errors },
    },
  ];
}

function typicalMedian(windows: readonly Window[]): number {
  return weightedMedian(windows.map(({ p50Ms, count }) => [p50Ms ?? 0, count]));
}

function typicalTail(windows: readonly Window[]): number {
  return weightedMedian(windows.map(({ p99Ms, count }) => [p99Ms ?? 0, count]));
}

/** The first and the last are left out, as incomplete. */
function windowsOf({ count, bytes, p50Ms, p99Ms }: OperationTimeline): Window[] {
  return count
    .map((n, i) => ({
      count: n,
      bytes: bytes[i] ?? 0,
      p50Ms: p50Ms[i] ?? null,
      p99Ms: p99Ms[i] ?? null,
    }))
    .slice(1, -1);
}

export function keyText({ scenario, what, of = '', figure, unit }: FigureKey): string {
  return JSON.stringify([scenario, what, of, figure, unit]);
}
