import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * Metrics are declared as data beside the code that moves them (`metrics.ts` of each module) and registered
 * here once. Names: `<prefix>_<module>_<what>_<unit>`; seconds and bytes; labels from closed sets only.
 */
export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** Without prefix: `pushsync_total_sent`. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds, histograms only. */
  readonly buckets?: readonly number[];
}

/** A set of metrics of one module: key in code → specification. */
export type MetricTable = Readonly<Record<string, MetricSpec>>;

interface KindOf {
  counter: Counter;
  gauge: Gauge;
  histogram: Histogram;
}

export type MetricsOf<T extends MetricTable> = { readonly [K in keyof T]: KindOf[T[K]['kind']] };

export interface Metrics {
  /** Registers a module's table and returns its live metrics. Registering a name twice throws. */
  register<T extends MetricTable>(table: T): MetricsOf<T>;
  /** Text exposition format. */
  expose(): Promise<string>;
  readonly contentType: string;
}

/** @param options.prefix `svc` or `bee` (the dialect's); @param options.process adds CPU, memory and event-loop metrics. */
export function createMetrics(options: { prefix: string; process?: boolean }): Metrics {
  const registry = new Registry();
  if (options.process === true) collectDefaultMetrics({ register: registry });
  return {
    contentType: registry.contentType,
    expose: () => registry.metrics(),
    register(table) {
      const live: Record<string, Counter | Gauge | Histogram> = {};
      for (const [key, spec] of Object.entries(table)) live[key] = create(registry, options.prefix, spec);
      return live as MetricsOf<typeof table>;
    },
  };
}

function create(registry: Registry, prefix: string, spec: MetricSpec): Counter | Gauge | Histogram {
  const config = {
    name: `${prefix}_${spec.name}`,
    help: spec.help,
    labelNames: [...(spec.labels ?? [])],
    registers: [registry],
  };
  switch (spec.kind) {
    case 'counter':
      return new Counter(config);
    case 'gauge':
      return new Gauge(config);
    case 'histogram':
      return new Histogram(spec.buckets === undefined ? config : { ...config, buckets: [...spec.buckets] });
  }
}
