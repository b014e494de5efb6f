import type { OperationTimeline } from '../metrics/timeline.ts';
import type { ChartFrame, ChartMark, TimeChartData, TimeSeries } from '../web/chart/chart-data.ts';
import { originOf, type RunEvent, type RunResult, type ScenarioResult } from './result.ts';

/** As many lines as colours, with the highest counts; the tables have all. */
const OPERATIONS_MAX = 8;
/** More points are noise at a page's width. */
const STEPS_MAX = 240;

export function chartFrame(run: RunResult, scenario: ScenarioResult): ChartFrame {
  const originMs = originOf(run, scenario);
  const { startedAt = originMs } = scenario;
  const endMs = startedAt + scenario.durationMs;
  const inside = run.events.filter(
    ({ at, endAt, folder = scenario.folder, cluster }) =>
      at < endMs + 1 &&
      (endAt ?? at) >= startedAt - 1 &&
      // Each simulated cluster begins at the same instant.
      folder === scenario.folder &&
      cluster === scenario.cluster,
  );
  const windows = scenario.timelines.flatMap(({ startMs, windowMs, count }) => [
    startMs,
    startMs + windowMs * count.length,
  ]);
  const fromMs = Math.min(startedAt, ...windows);
  return { originMs, fromMs, toMs: Math.max(endMs, fromMs + 1, ...windows), marks: inside.map(markOf) };
}

function markOf({ kind, at, endAt, text }: RunEvent): ChartMark {
  return { kind, fromMs: at, toMs: endAt, text };
}

/** Charts without lines are left out. */
export function timelineCharts({ timelines }: ScenarioResult): TimeChartData[] {
  const busiest = timelines
    .toSorted((a, b) => total(b.count) + total(b.errors) - total(a.count) - total(a.errors))
    .slice(0, OPERATIONS_MAX);
  const drawn = timelines.filter((one) => busiest.includes(one));
  if (drawn.length === 0) return [];
  const grid = gridOf(drawn);
  const chart = (
    chosen: readonly OperationTimeline[],
    about: Omit<TimeChartData, 'timesMs' | 'series'>,
    value: (one: OperationTimeline, windows: readonly number[]) => number | null,
  ): TimeChartData[] => {
    if (chosen.length === 0) return [];
    const series = chosen.map((one): TimeSeries => {
      const windows = windowsIn(grid, one);
      const values = windows.map((inside) => (inside.length === 0 ? null : rounded(value(one, inside))));
      return { label: one.operation, colour: drawn.indexOf(one) + 1, values };
    });
    return [{ ...about, timesMs: grid.timesMs, series }];
  };
  const perSecond = (values: readonly number[], windows: readonly number[], windowMs: number) =>
    total(windows.map((window) => values[window] ?? 0)) / ((windows.length * windowMs) / 1000);
  const worst = (values: readonly (number | null)[], windows: readonly number[]) =>
    windows.reduce<number | null>((max, window) => {
      const value = values[window] ?? null;
      return max === null || (value !== null && value > max) ? value : max;
    }, null);
  const moving = drawn.filter(({ bytes }) => total(bytes) > 0);
  const still = drawn.filter(({ bytes, count }) => total(bytes) === 0 && total(count) > 1);
  const timed = drawn.filter(({ count }) => total(count) > 0);
  const repeated = drawn.filter(({ count }) => count.some((one) => one > 1));
  const failing = drawn.filter(({ errors }) => total(errors) > 0);
  const note = `Each point is ${grid.stepMs / 1000} s`;
  const scale = { unit: 'ms', scale: 'log' } as const;
  return [
    ...chart(
      moving,
      {
        title: 'Throughput',
        unit: 'MiB/s',
        steps: true,
        note: `${note}: payload of the operations that ended in it.`,
      },
      (one, windows) => perSecond(one.bytes, windows, one.windowMs) / 2 ** 20,
    ),
    ...chart(
      still,
      { title: 'Rate', unit: '1/s', steps: true, note: `${note}: operations that ended in it.` },
      (one, windows) => perSecond(one.count, windows, one.windowMs),
    ),
    ...chart(
      timed,
      {
        title: 'Latency, p99',
        ...scale,
        note: `${note}: the highest p99 of a window; the maximum where samples are few.`,
      },
      (one, windows) => worst(one.p99Ms, windows),
    ),
    ...chart(
      repeated,
      { title: 'Latency, median', ...scale, note: `${note}: the highest median of a window.` },
      (one, windows) => worst(one.p50Ms, windows),
    ),
    ...chart(failing, { title: 'Errors', unit: '1/s', steps: true, note: `${note}.` }, (one, windows) =>
      perSecond(one.errors, windows, one.windowMs),
    ),
  ];
}

/** Steps of equal length. */
interface Grid {
  /** Starts, and the last one's end. */
  readonly timesMs: readonly number[];
  readonly stepMs: number;
}

/** Steps at least as long as the longest window. */
function gridOf(timelines: readonly OperationTimeline[]): Grid {
  const from = Math.min(...timelines.map(({ startMs }) => startMs));
  const to = Math.max(...timelines.map(({ startMs, windowMs, count }) => startMs + windowMs * count.length));
  const window = Math.max(...timelines.map(({ windowMs }) => windowMs));
  const stepMs = window * Math.max(1, Math.ceil((to - from) / window / STEPS_MAX));
  const steps = Math.ceil((to - from) / stepMs);
  return { stepMs, timesMs: Array.from({ length: steps + 1 }, (_, i) => from + i * stepMs) };
}

/** Windows by the step in which they begin; none outside the operation's time. */
function windowsIn({ timesMs, stepMs }: Grid, { startMs, windowMs, count }: OperationTimeline): number[][] {
  const windows: number[][] = timesMs.map(() => []);
  const from = timesMs[0] as number;
  for (let i = 0; i < count.length; i++)
    windows[Math.floor((startMs + i * windowMs - from) / stepMs)]?.push(i);
  return windows;
}

function total(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** A chart is some hundred pixels high: more digits only enlarge the page. */
function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(4));
}
