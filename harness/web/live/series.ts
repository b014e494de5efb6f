import type { ChartFrame, ChartMark, TimeChartData } from '../chart/chart-data.ts';
import {
  type ClusterView,
  type FigureName,
  LATENCIES,
  type LatencyName,
  OPERATIONS,
  type Row,
} from '../picture/live.ts';
import { figureOf, highestOf, type Model, totalOf } from './model.ts';

const SPAN_MIN_MS = 60_000;

type Column = (row: Row) => number | null;

interface ChartPlan {
  readonly title: string;
  readonly unit: TimeChartData['unit'];
  readonly series: readonly {
    readonly label: string;
    readonly of: Column;
    readonly dashed?: boolean;
    readonly colour?: number;
  }[];
}

const total =
  (name: FigureName): Column =>
  (row) =>
    totalOf(row, name);
const highest =
  (name: FigureName): Column =>
  (row) =>
    highestOf(row, name);
const latency =
  (name: LatencyName): Column =>
  (row) =>
    row.latencies[LATENCIES.indexOf(name)] ?? null;

function together(shared: number | null | undefined, own: number | null): number | null {
  return shared === null || shared === undefined ? own : shared + (own ?? 0);
}

const CLUSTER_CHARTS: readonly ChartPlan[] = [
  {
    title: 'Operations of the scenario',
    unit: '1/s',
    series: OPERATIONS.map((kind, i) => ({ label: kind, of: (row) => row.operations?.[i] ?? null })),
  },
  {
    title: 'Chunks',
    unit: '1/s',
    series: [
      { label: 'pushed', of: total('pushed') },
      { label: 'retrieved', of: total('retrieved') },
      { label: 'stored', of: total('stored') },
    ],
  },
  {
    title: 'Time per chunk',
    unit: 'ms',
    series: [
      { label: 'push p95', of: latency('pushP95'), colour: 1 },
      { label: 'push p50', of: latency('pushP50'), colour: 1, dashed: true },
      { label: 'retrieval p95', of: latency('retrievalP95'), colour: 2 },
      { label: 'retrieval p50', of: latency('retrievalP50'), colour: 2, dashed: true },
    ],
  },
  {
    title: 'Chunks waiting to be pushed',
    unit: 'count',
    series: [{ label: 'all nodes', of: total('queue') }],
  },
  { title: 'API requests', unit: '1/s', series: [{ label: 'all nodes', of: total('requests') }] },
  {
    title: 'Processor (100 % is one core)',
    unit: '%',
    series: [
      { label: 'all nodes', of: (row) => together(row.shared?.cpu, totalOf(row, 'cpu')) },
      { label: 'busiest node', of: highest('cpu'), dashed: true },
    ],
  },
  {
    title: 'Memory',
    unit: 'bytes',
    series: [
      { label: 'all nodes', of: (row) => together(row.shared?.memory, totalOf(row, 'memory')) },
      { label: 'largest node', of: highest('memory'), dashed: true },
    ],
  },
  {
    title: 'Event-loop delay, p99',
    unit: 'ms',
    series: [{ label: 'slowest node', of: highest('delay') }],
  },
];

export function clusterCharts(rows: readonly Row[]): TimeChartData[] {
  return CLUSTER_CHARTS.map((plan) => chartOf(plan, rows));
}

export function nodeCharts(rows: readonly Row[], place: number): TimeChartData[] {
  const own =
    (name: FigureName): Column =>
    (row) =>
      figureOf(row, place, name);
  const plans: ChartPlan[] = [
    {
      title: 'Its chunks',
      unit: '1/s',
      series: [
        { label: 'pushed', of: own('pushed') },
        { label: 'retrieved', of: own('retrieved') },
        { label: 'stored', of: own('stored') },
      ],
    },
    { title: 'Its processor', unit: '%', series: [{ label: 'of one core', of: own('cpu') }] },
    { title: 'Its memory', unit: 'bytes', series: [{ label: 'resident', of: own('memory') }] },
  ];
  return plans.map((plan) => chartOf(plan, rows));
}

export function hasValues({ series }: TimeChartData): boolean {
  return series.some(({ values }) => values.some((value) => value !== null));
}

/** Of a record, all its time; what lasts has lasted until now. */
export function frameOf(
  rows: readonly Row[],
  marks: readonly ChartMark[],
  { cluster, time }: Pick<Model, 'time'> & { readonly cluster: Pick<ClusterView, 'startedAt' | 'played'> },
): ChartFrame {
  const { startedAt: originMs, played } = cluster;
  if (played !== undefined) {
    const past = marks.map((mark) =>
      mark.kind === 'fault' ? { ...mark, toMs: mark.toMs ?? time?.nowMs } : mark,
    );
    return { originMs, fromMs: played.fromMs, toMs: played.toMs, marks: past };
  }
  const toMs = rows.at(-1)?.at ?? originMs;
  const first = rows[0]?.at ?? toMs;
  return { originMs, fromMs: Math.min(first, toMs - SPAN_MIN_MS), toMs, marks };
}

function chartOf({ title, unit, series }: ChartPlan, rows: readonly Row[]): TimeChartData {
  return {
    title,
    unit,
    timesMs: rows.map(({ at }) => at),
    series: series.map(({ label, of, dashed, colour }) => ({
      label,
      values: rows.map(of),
      dashed,
      colour,
    })),
  };
}
