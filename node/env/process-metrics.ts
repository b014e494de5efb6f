/**
 * Metrics of the process, under the usual Node.js names. Two continuous instruments start with the first exposition, so an
 * unwatched process does not pay for them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
} from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { CounterSeries, GaugeSeries, HistogramSeries } from './metric-series.ts';

/** Each sample wakes the process: at 10 ms that costs twice an idle node's other work. */
const LOOP_RESOLUTION_MS = 20;
const GC_BUCKETS = [0.001, 0.01, 0.1, 1, 2, 5];
const GC_KINDS: ReadonlyMap<unknown, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);
const NS_PER_SECOND = 1e9;

interface Instruments {
  readonly delay: ReturnType<typeof monitorEventLoopDelay>;
  readonly collections: HistogramSeries;
}

export function createProcessMetrics(): () => Promise<string[]> {
  let instruments: Instruments | undefined;
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  return async () => {
    const before = performance.now();
    await turn();
    const lag = (performance.now() - before) / 1000;
    instruments ??= startInstruments();
    return [
      ...processorTime(),
      gauge('process_start_time_seconds', 'Start time of the process since the epoch.', startedAt),
      ...memory(),
      ...linuxFigures(),
      gauge('nodejs_eventloop_lag_seconds', 'Lag of the event loop at this moment.', lag),
      ...loopDelays(instruments.delay),
      ...activeResources(),
      ...heapSpaces(),
      version(),
      instruments.collections.text(),
    ];
  };
}

function startInstruments(): Instruments {
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  const collections = new HistogramSeries(
    { name: 'nodejs_gc_duration_seconds', help: 'Garbage collections by kind.', labels: ['kind'] },
    GC_BUCKETS,
  );
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as PerformanceEntry & { detail?: { kind?: number } };
      collections.observe({ kind: GC_KINDS.get(detail?.kind) ?? 'other' }, entry.duration / 1000);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return { delay, collections };
}

function gauge(name: string, help: string, value: number): string {
  const series = new GaugeSeries({ name, help });
  series.set(value);
  return series.text();
}

function gauges(
  spec: { name: string; help: string; label: string },
  values: Iterable<[string, number]>,
): string {
  const series = new GaugeSeries({ ...spec, labels: [spec.label] });
  for (const [key, value] of values) series.set({ [spec.label]: key }, value);
  return series.text();
}

function processorTime(): string[] {
  const { user, system } = process.cpuUsage();
  const counter = (name: string, help: string, microseconds: number) => {
    const series = new CounterSeries({ name, help });
    series.inc(microseconds / 1e6);
    return series.text();
  };
  return [
    counter('process_cpu_user_seconds_total', 'Processor time in user mode.', user),
    counter('process_cpu_system_seconds_total', 'Processor time in the system.', system),
    counter('process_cpu_seconds_total', 'Processor time.', user + system),
  ];
}

function memory(): string[] {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return [
    gauge('process_resident_memory_bytes', 'Resident memory.', rss),
    gauge('nodejs_heap_size_total_bytes', 'Heap of V8.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Heap of V8 in use.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside of the heap that objects hold.', external),
  ];
}

/** From `/proc`. */
function linuxFigures(): string[] {
  if (process.platform !== 'linux') return [];
  const status = readFileSync('/proc/self/status', 'utf8');
  const bytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1024;
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return [
    gauge('process_virtual_memory_bytes', 'Virtual memory.', bytes('VmSize')),
    gauge('process_heap_bytes', 'Data segment.', bytes('VmData')),
    // Reading the folder opens it.
    gauge('process_open_fds', 'Open file descriptors.', readdirSync('/proc/self/fd').length - 1),
    ...(limit === undefined
      ? []
      : [gauge('process_max_fds', 'Most file descriptors that may be open.', Number(limit))]),
  ];
}

/** Delays since the last exposition. */
function loopDelays(delay: Instruments['delay']): string[] {
  const rows: [suffix: string, ns: number][] =
    delay.count === 0
      ? []
      : [
          ['min', delay.min],
          ['max', delay.max],
          ['mean', delay.mean],
          ['stddev', delay.stddev],
          ['p50', delay.percentile(50)],
          ['p90', delay.percentile(90)],
          ['p99', delay.percentile(99)],
        ];
  delay.reset();
  return rows.map(([suffix, ns]) =>
    gauge(
      `nodejs_eventloop_lag_${suffix}_seconds`,
      `Delay of the event loop: ${suffix}.`,
      ns / NS_PER_SECOND,
    ),
  );
}

function activeResources(): string[] {
  const counts = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const spec = { name: 'nodejs_active_resources', help: 'What keeps the event loop alive.', label: 'type' };
  return [
    gauges(spec, counts),
    gauge('nodejs_active_resources_total', 'What keeps the event loop alive, in all.', total),
  ];
}

function heapSpaces(): string[] {
  const spaces = getHeapSpaceStatistics();
  return (
    [
      ['total', 'space_size'],
      ['used', 'space_used_size'],
      ['available', 'space_available_size'],
    ] as const
  ).map(([suffix, key]) =>
    gauges(
      {
        name: `nodejs_heap_space_size_${suffix}_bytes`,
        help: `Spaces of the heap: ${suffix}.`,
        label: 'space',
      },
      spaces.map((space) => [space.space_name.replace(/_space$/, ''), space[key]]),
    ),
  );
}

function version(): string {
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const labels = { version: process.version, major, minor, patch };
  const spec = { name: 'nodejs_version_info', help: 'Version of Node.js.', labels: Object.keys(labels) };
  const series = new GaugeSeries(spec);
  series.set(labels, 1);
  return series.text();
}
