import { processUsage } from '../../base/machine/usage.ts';
import { type Exposition, parseExposition, type Sample } from '../../metrics/exposition.ts';
import { keptName } from '../../metrics/kept-series.ts';
import { gained } from '../../metrics/series.ts';
import { FIGURES, type FigureName } from '../../web/picture/live.ts';

/** Without the prefix, our nodes' and Bees' metrics have the same names. */
const COUNTERS = {
  pushed: ['pusher_sync_time_count'],
  retrieved: ['retrieval_request_success_count'],
  stored: ['pushsync_storer', 'pullsync_chunks_delivered'],
  requests: ['api_request_count'],
} as const;
const HISTOGRAMS = { push: 'pusher_sync_time', retrieval: 'retrieval_retrieve_chunk_time' } as const;
type HistogramName = keyof typeof HISTOGRAMS;
const GAUGES = {
  toPush: 'pusher_total_to_push',
  pushed: 'pusher_total_synced',
  memory: 'process_resident_memory_bytes',
  delay: 'nodejs_eventloop_lag_p99_seconds',
  cpu: 'process_cpu_seconds_total',
} as const;

/** What figures are made of, without latencies. */
export const FIGURE_SERIES: readonly string[] = [...Object.values(COUNTERS).flat(), ...Object.values(GAUGES)];

export interface Reading {
  /** Monotonic, milliseconds. */
  readonly at: number;
  /** Sums over labels. */
  readonly values: ReadonlyMap<string, number>;
  /** The page's own requests, which are subtracted. */
  readonly asked: number;
  /** Cumulative counts by upper bound, seconds. */
  readonly buckets: Readonly<Record<HistogramName, ReadonlyMap<number, number>>>;
}

/** @throws SyntaxError */
export function readingOf(text: string, { at, asked }: Pick<Reading, 'at' | 'asked'>): Reading {
  const { samples }: Exposition = parseExposition(text);
  const values = new Map<string, number>();
  const buckets = { push: new Map<number, number>(), retrieval: new Map<number, number>() };
  for (const { name, labels, value } of samples) {
    const plain = keptName(name);
    if (!plain.endsWith('_bucket')) values.set(plain, (values.get(plain) ?? 0) + value);
    const histogram = histogramOf(plain);
    if (histogram !== undefined) addBucket(buckets[histogram], { labels, value });
  }
  return { at, asked, values, buckets };
}

function histogramOf(name: string): HistogramName | undefined {
  if (name === `${HISTOGRAMS.push}_bucket`) return 'push';
  return name === `${HISTOGRAMS.retrieval}_bucket` ? 'retrieval' : undefined;
}

function addBucket(buckets: Map<number, number>, { labels, value }: Pick<Sample, 'labels' | 'value'>): void {
  const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
  buckets.set(bound, (buckets.get(bound) ?? 0) + value);
}

/**
 * @param waiting chunks held back
 * @returns by `FIGURES`; `null`: unknown, such as rates at the first reading
 */
export function figuresOf(
  now: Reading,
  before: Reading | undefined,
  waiting: number | null,
): (number | null)[] {
  const seconds = before === undefined ? 0 : (now.at - before.at) / 1000;
  const figures: Record<FigureName, number | null> = {
    pushed: rate('pushed'),
    retrieved: rate('retrieved'),
    stored: rate('stored'),
    requests: requests(),
    queue: queue(),
    cpu: cpu(),
    memory: now.values.get(GAUGES.memory) ?? null,
    delay: milliseconds(now.values.get(GAUGES.delay)),
  };
  return FIGURES.map((name) => rounded(figures[name]));

  function rate(name: keyof typeof COUNTERS): number | null {
    if (before === undefined || seconds <= 0) return null;
    const growths = COUNTERS[name].map((counter) =>
      growth(now.values.get(counter), before.values.get(counter)),
    );
    const known = growths.filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / seconds;
  }

  function requests(): number | null {
    const all = rate('requests');
    return all === null || before === undefined
      ? null
      : Math.max(0, all - (now.asked - before.asked) / seconds);
  }

  function queue(): number | null {
    const pushing = difference(now, GAUGES.toPush, GAUGES.pushed);
    return pushing === null ? waiting : pushing + (waiting ?? 0);
  }

  function cpu(): number | null {
    if (before === undefined || seconds <= 0) return null;
    const own = growth(now.values.get(GAUGES.cpu), before.values.get(GAUGES.cpu));
    return own === null ? null : (own / seconds) * 100;
  }
}

export function growth(now: number | undefined, before: number | undefined): number | null {
  return now === undefined || before === undefined ? null : gained(before, now);
}

function difference({ values }: Reading, more: string, less: string): number | null {
  const [from, to] = [values.get(more), values.get(less)];
  return from === undefined || to === undefined ? null : Math.max(0, from - to);
}

function milliseconds(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}

export function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(4));
}

export interface ReadingPair {
  readonly now: Reading;
  readonly before: Reading | undefined;
}

/** Percentile over all nodes, ms, interpolated as in Prometheus. `null`: nothing finished. */
export function latencyOf(
  pairs: readonly ReadingPair[],
  histogram: HistogramName,
  share: number,
): number | null {
  const grown = new Map<number, number>();
  for (const { now, before } of pairs) {
    if (before === undefined) continue;
    for (const [bound, count] of now.buckets[histogram]) {
      const more = growth(count, before.buckets[histogram].get(bound) ?? 0) ?? 0;
      grown.set(bound, (grown.get(bound) ?? 0) + more);
    }
  }
  const bounds = [...grown].sort(([a], [b]) => a - b);
  const total = bounds.at(-1)?.[1] ?? 0;
  if (total === 0) return null;
  const wanted = share * total;
  let [lower, below] = [0, 0];
  for (const [bound, count] of bounds) {
    if (count >= wanted) {
      if (!Number.isFinite(bound)) return rounded(lower * 1000);
      return rounded((lower + ((bound - lower) * (wanted - below)) / (count - below)) * 1000);
    }
    [lower, below] = [bound, count];
  }
  return null;
}

export interface Used {
  /** Monotonic, milliseconds. */
  readonly at: number;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/** Usage of a process with several nodes, whose individual shares are unknown. */
export function usedOf(pid: number, at: number): Used | undefined {
  const usage = processUsage(pid);
  return usage === undefined ? undefined : { at, ...usage };
}

/** @returns percent of one core, `null` at the first reading; bytes */
export function sharedFigures(now: Used, before: Used | undefined): { cpu: number | null; memory: number } {
  const seconds = before === undefined ? 0 : (now.at - before.at) / 1000;
  const cpu =
    before === undefined || seconds <= 0 ? null : (gained(before.cpuSeconds, now.cpuSeconds) / seconds) * 100;
  return { cpu: rounded(cpu), memory: now.residentBytes };
}
