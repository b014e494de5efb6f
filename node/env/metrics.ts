import {
  type Counter,
  CounterSeries,
  type Gauge,
  GaugeSeries,
  type Histogram,
  HistogramSeries,
  type Summary,
  SummarySeries,
} from './metric-series.ts';

/**
 * Declared beside the code that updates them (`metrics.ts`). Names: `<prefix>_<module>_<what>_<unit>`; seconds and bytes;
 * labels from closed sets.
 */
export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram' | 'summary';
  /** Without prefix: `pushsync_total_sent`. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Histograms only. */
  readonly buckets?: readonly number[];
}

export type MetricTable = Readonly<Record<string, MetricSpec>>;

interface KindOf {
  counter: Counter;
  gauge: Gauge;
  histogram: Histogram;
  summary: Summary;
}

export type MetricsOf<T extends MetricTable> = { readonly [K in keyof T]: KindOf[T[K]['kind']] };

export interface Metrics {
  /** A name registered twice throws. */
  register<T extends MetricTable>(table: T): MetricsOf<T>;
  expose(): Promise<string>;
  readonly contentType: string;
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** @param options.prefix `svc` or `bee` @param options.process families that come first */
export function createMetrics(options: {
  prefix: string;
  process?: (() => Promise<string[]>) | undefined;
}): Metrics {
  const registered = new Map<string, AnySeries>();
  const ofProcess = options.process ?? (() => Promise.resolve([]));
  return {
    contentType: CONTENT_TYPE,
    async expose() {
      const texts = [...(await ofProcess()), ...Array.from(registered.values(), (series) => series.text())];
      return `${texts.join('\n\n')}\n`;
    },
    register(table) {
      const live: Record<string, AnySeries> = {};
      for (const [key, spec] of Object.entries(table)) {
        const name = `${options.prefix}_${spec.name}`;
        if (registered.has(name)) throw new TypeError(`metric '${name}' is registered already`);
        const series = create({ ...spec, name });
        registered.set(name, series);
        live[key] = series;
      }
      return live as MetricsOf<typeof table>;
    },
  };
}

type AnySeries = CounterSeries | GaugeSeries | HistogramSeries | SummarySeries;

function create(spec: MetricSpec): AnySeries {
  switch (spec.kind) {
    case 'counter':
      return new CounterSeries(spec);
    case 'gauge':
      return new GaugeSeries(spec);
    case 'histogram':
      return new HistogramSeries(spec, spec.buckets);
    case 'summary':
      return new SummarySeries(spec);
  }
}
