/** What a scenario measured over time, as charts that stand below each other, with what happened meanwhile. */
import type { OperationTimeline } from '../metrics/timeline.ts';
import type { ChartFrame, ChartMark, TimeChartData, TimeSeries } from '../web/chart/chart-data.ts';
import type { RunEvent, RunResult, ScenarioResult } from './result.ts';

/** Lines of one chart: as many as there are colours. Those with most operations are drawn; the tables have all. */
const OPERATIONS_MAX = 8;

export function chartFrame(run: RunResult, scenario: ScenarioResult): ChartFrame {
  const originMs = scenario.startedAt ?? Date.parse(run.startedAt);
  const endMs = originMs + scenario.durationMs;
  const inside = run.events.filter(({ at, endAt }) => at < endMs + 1 && (endAt ?? at) >= originMs - 1);
  const windows = scenario.timelines.flatMap(({ startMs, windowMs, count }) => [
    startMs,
    startMs + windowMs * count.length,
  ]);
  const fromMs = Math.min(originMs, ...windows);
  return { originMs, fromMs, toMs: Math.max(endMs, fromMs + 1, ...windows), marks: inside.map(markOf) };
}

function markOf({ kind, at, endAt, text }: RunEvent): ChartMark {
  return { kind, fromMs: at, ...(endAt === undefined ? {} : { toMs: endAt }), text };
}

/** Throughput, rate, latency and errors; a chart that would have no line is left out. */
export function timelineCharts({ timelines }: ScenarioResult): TimeChartData[] {
  const busiest = timelines
    .toSorted((a, b) => total(b.count) + total(b.errors) - total(a.count) - total(a.errors))
    .slice(0, OPERATIONS_MAX);
  const drawn = timelines.filter((one) => busiest.includes(one));
  const times = boundaries(drawn);
  const colour = (one: OperationTimeline) => drawn.indexOf(one) + 1;
  const series = (
    one: OperationTimeline,
    values: (window: number) => number | null,
    more: Partial<TimeSeries> = {},
  ): TimeSeries => ({
    label: one.operation,
    colour: colour(one),
    values: times.map((at) => {
      const window = Math.floor((at - one.startMs) / one.windowMs);
      return at < one.startMs || window >= one.count.length ? null : rounded(values(window));
    }),
    ...more,
  });
  const perSecond = (one: OperationTimeline, counts: readonly number[]) => (window: number) =>
    (counts[window] as number) / (one.windowMs / 1000);
  const moving = drawn.filter(({ bytes }) => total(bytes) > 0);
  const still = drawn.filter(({ bytes, count }) => total(bytes) === 0 && total(count) > 1);
  const timed = drawn.filter(({ count }) => total(count) > 0);
  const failing = drawn.filter(({ errors }) => total(errors) > 0);
  const charts: (TimeChartData | undefined)[] = [
    moving.length === 0
      ? undefined
      : {
          title: 'Throughput',
          unit: 'MiB/s',
          steps: true,
          timesMs: times,
          series: moving.map((one) => series(one, (window) => perSecond(one, one.bytes)(window) / 2 ** 20)),
        },
    still.length === 0
      ? undefined
      : {
          title: 'Rate',
          unit: '1/s',
          steps: true,
          timesMs: times,
          series: still.map((one) => series(one, perSecond(one, one.count))),
        },
    timed.length === 0
      ? undefined
      : {
          title: 'Latency',
          unit: 'ms',
          timesMs: times,
          series: timed.flatMap((one) => [
            series(one, (window) => one.p99Ms[window] ?? null, { label: `${one.operation} p99` }),
            ...(one.count.some((count) => count > 1)
              ? [
                  series(one, (window) => one.p50Ms[window] ?? null, {
                    label: `${one.operation} p50`,
                    dashed: true,
                  }),
                ]
              : []),
          ]),
        },
    failing.length === 0
      ? undefined
      : {
          title: 'Errors',
          unit: '1/s',
          steps: true,
          timesMs: times,
          series: failing.map((one) => series(one, perSecond(one, one.errors))),
        },
  ];
  return charts.filter((chart) => chart !== undefined);
}

/** Where any window begins, and the end of the last one: operations may have windows of different lengths. */
function boundaries(timelines: readonly OperationTimeline[]): number[] {
  const times = new Set<number>();
  for (const { startMs, windowMs, count } of timelines)
    for (let i = 0; i <= count.length; i++) times.add(startMs + i * windowMs);
  return [...times].toSorted((a, b) => a - b);
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** A chart has some hundred pixels of height: more digits would only make the page larger. */
function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(4));
}
