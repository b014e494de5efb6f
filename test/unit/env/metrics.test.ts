import { fc, test as property } from '@fast-check/vitest';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test, vi } from 'vitest';
import { createMetrics, type MetricTable } from '../../../node/env/metrics.ts';
import { createProcessMetrics } from '../../../node/env/process-metrics.ts';

const TABLE = {
  plain: { kind: 'counter', name: 'plain_total', help: 'Counts, \\ and\nmore.' },
  labelled: { kind: 'counter', name: 'labelled_total', help: 'Counts.', labels: ['code', 'method'] },
  level: { kind: 'gauge', name: 'level', help: 'A level.' },
  levels: { kind: 'gauge', name: 'levels', help: 'Levels.', labels: ['of'] },
  time: { kind: 'histogram', name: 'time_seconds', help: 'Time.' },
  size: { kind: 'histogram', name: 'size', help: 'Sizes.', labels: ['of'], buckets: [0.5, 2, 30] },
} as const satisfies MetricTable;

/** An independent implementation. */
function theirs() {
  const registers = [new Registry()] as const;
  const config = (key: keyof typeof TABLE) => {
    const spec: MetricTable[string] = TABLE[key];
    const buckets = spec.buckets === undefined ? {} : { buckets: [...spec.buckets] };
    return {
      name: `svc_${spec.name}`,
      help: spec.help,
      labelNames: [...(spec.labels ?? [])],
      registers: [...registers],
      ...buckets,
    };
  };
  return {
    expose: () => registers[0].metrics(),
    live: {
      plain: new Counter(config('plain')),
      labelled: new Counter(config('labelled')),
      level: new Gauge(config('level')),
      levels: new Gauge(config('levels')),
      time: new Histogram(config('time')),
      size: new Histogram(config('size')),
    },
  };
}

const label = fc.constantFrom('a', 'b', 'with "quotes"', 'back\\slash', 'line\nbreak', '');
const amount = fc.oneof(fc.nat(100), fc.double({ min: 0, max: 100, noNaN: true }));
type Live = ReturnType<typeof theirs>['live'];
const step: fc.Arbitrary<(live: Pick<Live, keyof Live>) => void> = fc.oneof(
  fc.constant((live: Live) => live.plain.inc()),
  amount.map((n) => (live: Live) => live.plain.inc(n)),
  fc.tuple(label, label).map(
    ([code, method]) =>
      (live: Live) =>
        live.labelled.inc({ code, method }),
  ),
  fc.tuple(label, amount).map(
    ([code, n]) =>
      (live: Live) =>
        live.labelled.inc({ code }, n),
  ),
  amount.map((n) => (live: Live) => live.level.set(-n)),
  fc.tuple(label, amount).map(
    ([of, n]) =>
      (live: Live) =>
        live.levels.set({ of }, n),
  ),
  amount.map((n) => (live: Live) => live.time.observe(n)),
  fc.tuple(label, amount).map(
    ([of, n]) =>
      (live: Live) =>
        live.size.observe({ of }, n),
  ),
);

/** In any order: ours writes them in order of use, prom-client may not. */
const sorted = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .sort();

property.prop([fc.array(step, { maxLength: 40 })], { numRuns: 200 })(
  'whatever is counted, the text is that of another implementation',
  async (steps) => {
    const [ours, other] = [createMetrics({ prefix: 'svc' }), theirs()];
    const live = ours.register(TABLE);
    for (const work of steps) {
      work(live as unknown as Live);
      work(other.live);
    }
    expect(sorted(await ours.expose())).toEqual(sorted(await other.expose()));
  },
);

test('a family is one block: help, type, then its lines', async () => {
  const metrics = createMetrics({ prefix: 'svc' });
  const { size } = metrics.register({ size: TABLE.size });
  size.observe({ of: 'x' }, 1);
  expect(await metrics.expose()).toBe(
    [
      '# HELP svc_size Sizes.',
      '# TYPE svc_size histogram',
      'svc_size_bucket{le="0.5",of="x"} 0',
      'svc_size_bucket{le="2",of="x"} 1',
      'svc_size_bucket{le="30",of="x"} 1',
      'svc_size_bucket{le="+Inf",of="x"} 1',
      'svc_size_sum{of="x"} 1',
      'svc_size_count{of="x"} 1',
      '',
    ].join('\n'),
  );
  expect(metrics.contentType).toBe(new Registry().contentType);
});

test('invalid metrics are refused', () => {
  const metrics = createMetrics({ prefix: 'svc' });
  const live = metrics.register(TABLE);
  expect(() => live.plain.inc(-1)).toThrow(RangeError);
  expect(() => live.plain.inc(Number.NaN)).toThrow(RangeError);
  expect(() => live.time.observe(Number.NaN)).toThrow(RangeError);
  expect(() => live.labelled.inc({ colour: 'red' })).toThrow("no label 'colour'");
  expect(() => metrics.register({ again: TABLE.plain })).toThrow("'svc_plain_total' is registered already");
});

test('a process reports what it costs, under the names that dashboards for Node.js read', async () => {
  const metrics = createMetrics({ prefix: 'svc', process: createProcessMetrics() });
  await metrics.expose();
  // The event loop is watched from the first exposition on: a busy machine sees its first delay late.
  const text = await vi.waitFor(
    async () => {
      const exposed = await metrics.expose();
      expect(exposed).toContain('nodejs_eventloop_lag_p99_seconds ');
      return exposed;
    },
    { timeout: 120_000, interval: 50 },
  );
  for (const name of [
    'process_cpu_seconds_total',
    'process_cpu_user_seconds_total',
    'process_cpu_system_seconds_total',
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_seconds',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_active_resources_total',
    'nodejs_heap_size_used_bytes',
    'nodejs_heap_size_total_bytes',
    'nodejs_external_memory_bytes',
  ]) {
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    expect(Number(value), name).toBeGreaterThanOrEqual(0);
  }
  expect(text).toMatch(/^nodejs_heap_space_size_used_bytes\{space="old"\} \d+$/m);
  expect(text).toMatch(/^nodejs_version_info\{version="v\d+/m);
  expect(text).toMatch(/^# TYPE nodejs_gc_duration_seconds histogram$/m);
  expect(text).not.toContain('NaN');
});

test('a summary, a tally and a gauge with a source are exposed with their current values', async () => {
  const metrics = createMetrics({ prefix: 'svc' });
  const live = metrics.register({
    price: { kind: 'summary', name: 'price', help: 'Prices.' },
    bytes: { kind: 'counter', name: 'bytes_total', help: 'Bytes.', labels: ['direction'] },
    size: { kind: 'gauge', name: 'size', help: 'Size.' },
  } as const satisfies MetricTable);
  live.price.observe(10);
  live.price.observe(20);
  live.bytes.tally({ direction: 'sent' }).value += 5;
  live.bytes.inc({ direction: 'sent' }, 2);
  let size = 1;
  live.size.from(() => size);
  size = 3;
  const text = await metrics.expose();
  expect(text).toContain('# TYPE svc_price summary\nsvc_price_sum 30\nsvc_price_count 2');
  expect(text).toContain('svc_bytes_total{direction="sent"} 7');
  expect(text).toContain('svc_size 3');
});

test('a series with one label is found by number or text, and still refuses another label', async () => {
  const metrics = createMetrics({ prefix: 'svc' });
  const live = metrics.register({
    depth: { kind: 'counter', name: 'depth_total', help: 'Depths.', labels: ['depth'] },
  } as const satisfies MetricTable);
  for (let times = 0; times < 2; times++) {
    live.depth.inc({ depth: 1 });
    live.depth.inc({ depth: '1' });
    live.depth.inc({ depth: 2 });
    live.depth.inc({});
  }
  expect(() => live.depth.inc({ depth: 1, colour: 'red' })).toThrow("no label 'colour'");
  const text = await metrics.expose();
  expect(text).toContain('svc_depth_total{depth="1"} 4\nsvc_depth_total{depth="2"} 2\nsvc_depth_total 2');
});
