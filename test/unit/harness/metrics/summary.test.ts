import { expect, test } from 'vitest';
import { parseExposition } from '../../../../harness/metrics/exposition.ts';
import { type MetricsSnapshot, summarise } from '../../../../harness/metrics/summary.ts';

const snapshot = (node: string, text: string, atMs = 0): MetricsSnapshot => ({
  node,
  exposition: parseExposition(text),
  atMs,
});
const counter = (value: number) =>
  `# HELP svc_pusher_total_synced Attempts.\n# TYPE svc_pusher_total_synced counter\nsvc_pusher_total_synced ${value}\n`;
const gauge = (value: number) =>
  `# TYPE svc_localstore_reserve_size gauge\nsvc_localstore_reserve_size ${value}\n`;
const histogram = (count: number, sum: number, prefix = 'svc') =>
  `# TYPE ${prefix}_pusher_sync_time histogram\n${prefix}_pusher_sync_time_bucket{le="+Inf"} ${count}\n${prefix}_pusher_sync_time_sum ${sum}\n${prefix}_pusher_sync_time_count ${count}\n`;

test('counters are summed over the nodes', () => {
  expect(
    summarise([snapshot('a', counter(3)), snapshot('b', counter(4)), snapshot('c', counter(0))]),
  ).toEqual([
    {
      name: 'pusher_total_synced',
      labels: {},
      kind: 'counter',
      help: 'Attempts.',
      unit: '',
      nodes: 3,
      total: 7,
      min: 0,
      median: 3,
      max: 4,
      mean: null,
      perSecond: null,
    },
  ]);
});

test('gauges have no sum, but a minimum, a median and a maximum', () => {
  const rows = summarise([
    snapshot('a', gauge(10)),
    snapshot('b', gauge(30)),
    snapshot('c', gauge(12)),
    snapshot('d', gauge(20)),
  ]);
  expect(rows).toMatchObject([{ total: null, min: 10, median: 16, max: 30, perSecond: null }]);
});

test('a histogram is one row: the number of its values, and their mean over all nodes', () => {
  const rows = summarise([snapshot('a', histogram(1, 4)), snapshot('b', histogram(3, 0.8))]);
  expect(rows).toMatchObject([
    { name: 'pusher_sync_time', kind: 'histogram', unit: 's', total: 4, mean: 1.2 },
  ]);
  expect(summarise([snapshot('a', histogram(0, 0))])).toMatchObject([{ total: 0, mean: null }]);
});

test('nodes of both dialects are counted together', () => {
  const rows = summarise([snapshot('a', histogram(1, 1)), snapshot('b', histogram(2, 2, 'bee'))]);
  expect(rows).toMatchObject([{ name: 'pusher_sync_time', nodes: 2, total: 3 }]);
});

test('growth per second covers all nodes that were read before, including one that was restarted', () => {
  const before = [snapshot('a', counter(10)), snapshot('b', counter(100)), snapshot('c', '')];
  const now = [
    snapshot('a', counter(16), 2000),
    snapshot('b', counter(4), 2000),
    snapshot('c', counter(2), 2000),
  ];
  expect(summarise(now, before)).toMatchObject([{ total: 22, perSecond: 6 }]);
});

test('the growth of each node is over its own time between its readings', () => {
  const before = [snapshot('a', counter(0), 100), snapshot('b', counter(0), 5100)];
  const now = [snapshot('a', counter(600), 6100), snapshot('b', counter(7), 6100)];
  expect(summarise(now, before)).toMatchObject([{ total: 607, perSecond: 100 + 7 }]);
});

test('a node that missed the first reading is in no rate: its whole life is not growth', () => {
  const before = [snapshot('a', counter(10))];
  const late = snapshot('b', counter(100_000) + histogram(3, 1), 2000);
  expect(summarise([snapshot('a', counter(16), 2000), late], before)).toMatchObject([
    { name: 'pusher_sync_time', perSecond: null },
    { name: 'pusher_total_synced', total: 100_016, perSecond: 3 },
  ]);
});

test('series with different labels have separate rows', () => {
  const text =
    '# TYPE svc_pushsync_receipt_depth counter\nsvc_pushsync_receipt_depth{depth="2"} 1\nsvc_pushsync_receipt_depth{depth="1"} 5\n';
  expect(summarise([snapshot('a', text)]).map(({ labels, total }) => [labels['depth'], total])).toEqual([
    ['1', 5],
    ['2', 1],
  ]);
});

test('units are derived from the names', () => {
  const units = Object.fromEntries(
    [
      'process_resident_memory_bytes',
      'svc_pusher_sync_time',
      'svc_salud_neighborhood_dur',
      'svc_swap_available_balance',
      'svc_swap_total_sent',
      'svc_postage_listener_page_duration',
      'svc_pushsync_total_sent',
    ].map((name) => [name, summarise([snapshot('a', `${name} 1\n`)])[0]?.unit]),
  );
  expect(Object.values(units)).toEqual(['bytes', 's', 's', 'token units', 'accounting units', 'ns', '']);
});
