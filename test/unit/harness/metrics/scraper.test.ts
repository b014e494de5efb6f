import { expect, test } from 'vitest';
import type { Scrape } from '../../../../harness/metrics/scrape.ts';
import {
  type ScrapedCluster,
  type ScrapedNode,
  Scraper,
  scrapeIntervalMs,
} from '../../../../harness/metrics/scraper.ts';
import type { SeriesColumns, SeriesId } from '../../../../harness/metrics/series.ts';
import { TestbedMetrics } from '../../../../harness/metrics/testbed.ts';
import { VirtualClock } from '../../onchain/virtual-clock.ts';

const clock = new VirtualClock();

interface Fake extends ScrapedNode {
  state: string;
  running: boolean;
  pid: number | undefined;
  /** What it answers; an error: what it fails with. */
  text: string | Error;
}

function fakeNode(name: string, text: string, about: Partial<Fake> = {}): Fake {
  const node: Fake = {
    name,
    flavour: 'svc',
    mode: 'full',
    state: 'running',
    running: true,
    pid: undefined,
    text,
    client: {
      metrics: () => (node.text instanceof Error ? Promise.reject(node.text) : Promise.resolve(node.text)),
    },
    stats: () => Promise.resolve({}),
    ...about,
  };
  return node;
}

const counter = (name: string, value: number, labels = '') =>
  `# TYPE ${name} counter\n${name}${labels} ${value}\n`;

function watching(nodes: readonly ScrapedNode[], faults: ScrapedCluster['faults'] = { active: [] }) {
  const scrapes: Scrape[] = [];
  let known: readonly SeriesId[] = [];
  const testbed = new TestbedMetrics('test');
  const scraper = new Scraper({
    testbed,
    onScrape(scrape, ids) {
      scrapes.push(scrape);
      known = ids;
    },
  });
  const watch = () => scraper.watch({ clock, nodes, faults });
  watch();
  return {
    scraper,
    watch,
    testbed,
    columns: (): SeriesColumns => ({
      times: Float64Array.from(scrapes, ({ at }) => at),
      clusters: scrapes.map(({ cluster = 1 }) => cluster),
      series: known.map((id, number) => ({
        ...id,
        values: Float64Array.from(scrapes, ({ values }) => values.get(number) ?? Number.NaN),
      })),
    }),
    read: async () => {
      const wanted = scrapes.length + 2;
      while (scrapes.length < wanted) await clock.turn();
    },
  };
}

function valuesOf({ series }: SeriesColumns, name: string, node?: string): number[] {
  const found = series.find((one) => one.name === name && one.node === node);
  return [...(found?.values ?? [])];
}

test('nodes of both dialects share the names of their series, and buckets are left out', async () => {
  const histogram =
    '# TYPE svc_pusher_sync_time histogram\nsvc_pusher_sync_time_bucket{le="1"} 3\nsvc_pusher_sync_time_sum 1.5\nsvc_pusher_sync_time_count 3\n';
  const own = fakeNode('node-0', counter('svc_pushsync_total_sent', 7) + histogram);
  const bee = fakeNode(
    'node-1',
    `${counter('bee_pushsync_total_sent', 9)}bee_localstore_leveldb_stats_sum 5\n`,
  );
  const { scraper, read, columns } = watching([own, bee]);
  await read();
  await scraper.release();
  const seen = columns();
  const ofNodes = seen.series.filter(({ node }) => node !== undefined);
  expect(ofNodes.map(({ node, name, kind }) => `${node} ${name} ${kind}`)).toEqual([
    'node-0 pushsync_total_sent counter',
    'node-0 pusher_sync_time_sum counter',
    'node-0 pusher_sync_time_count counter',
    'node-1 pushsync_total_sent counter',
  ]);
  expect(valuesOf(seen, 'pushsync_total_sent', 'node-1').at(-1)).toBe(9);
});

test('readings of a later cluster have its number', async () => {
  const { scraper, watch, read, columns } = watching([
    fakeNode('node-0', counter('svc_pushsync_total_sent', 7)),
  ]);
  await read();
  await scraper.release();
  const { length } = columns().clusters;
  watch();
  await read();
  await scraper.release();
  const { clusters } = columns();
  expect(new Set(clusters.slice(0, length))).toEqual(new Set([1]));
  expect(new Set(clusters.slice(length))).toEqual(new Set([2]));
});

test('a node that does not answer leaves a gap, is down, and has a reason', async () => {
  const node = fakeNode('node-0', counter('svc_pusher_total_synced', 1));
  const { scraper, read, columns, testbed } = watching([node]);
  await read();
  node.text = new Error('connection reset');
  await read();
  expect(await testbed.expose()).toContain('testbed_node_up{node="node-0",group="svc-full",run="test"} 0');
  node.text = counter('svc_pusher_total_synced', 2);
  await read();
  await scraper.release();
  const values = valuesOf(columns(), 'pusher_total_synced', 'node-0');
  expect(values[0]).toBe(1);
  expect(values.some(Number.isNaN)).toBe(true);
  expect(values.at(-1)).toBe(2);
  expect(scraper.failures.get('node-0')).toBe('connection reset');
});

test('a node whose answer is not an exposition leaves a gap', async () => {
  const { scraper, read } = watching([fakeNode('node-0', '<html>\n')]);
  await read();
  await scraper.release();
  expect(scraper.failures.get('node-0')).toContain("got '<html>', expected 'name{labels} value'");
});

test('a node stopped on purpose shows as a fault and is not asked', async () => {
  const node = fakeNode('node-0', 'never', { running: false, state: 'killed' });
  const { scraper, read, testbed } = watching([node]);
  await read();
  await scraper.release();
  expect(await testbed.expose()).toContain('testbed_fault_active{kind="kill",target="node-0",run="test"} 1');
  expect(scraper.failures.size).toBe(0);
});

test('faults show while they last, those of the links and of the chain as well', async () => {
  const partition = { kind: 'partition', targets: ['node-0', 'node-1'] };
  const faults = {
    active: [partition, { kind: 'link', targets: [] }, { kind: 'chain-stall', targets: ['chain'] }],
  };
  const { scraper, read, testbed } = watching([fakeNode('node-0', ''), fakeNode('node-1', '')], faults);
  const shown = async () => {
    await read();
    const text = await testbed.expose();
    return [...text.matchAll(/^testbed_fault_active\{kind="(.*)",target="(.*)",run="test"\} 1$/gm)].map(
      ([, kind, target]) => `${kind} ${target}`,
    );
  };
  expect(await shown()).toEqual([
    'partition node-0',
    'partition node-1',
    'link cluster',
    'chain-stall chain',
  ]);
  faults.active = [partition];
  expect(await shown()).toEqual(['partition node-0', 'partition node-1']);
  faults.active = [];
  expect(await shown()).toEqual([]);
  await scraper.release();
});

test('cluster sums of node counters never fall when a node is restarted', async () => {
  const bytes = (value: number) =>
    counter('svc_libp2p_protocol_bytes_total', value, '{protocol="pushsync",direction="sent"}');
  const restarted = fakeNode('node-0', counter('svc_swap_cheques_sent', 100) + bytes(1000));
  const other = fakeNode('node-1', counter('svc_swap_cheques_sent', 5) + bytes(10));
  const { scraper, read, testbed } = watching([restarted, other]);
  await read();
  restarted.text = counter('svc_swap_cheques_sent', 104) + bytes(1500);
  await read();
  restarted.text = counter('svc_swap_cheques_sent', 3);
  other.text = counter('svc_swap_cheques_sent', 6) + bytes(10);
  await read();
  restarted.text = counter('svc_swap_cheques_sent', 3) + bytes(7);
  await scraper.release();
  const text = await testbed.expose();
  expect(text).toContain('testbed_cheque_total{kind="sent",run="test"} 8');
  expect(text).toContain('testbed_network_bytes_total{protocol="pushsync",direction="sent",run="test"} 507');
});

test('release takes one last reading', async () => {
  const node = fakeNode('node-0', counter('svc_pusher_total_synced', 1));
  const { scraper, read, columns } = watching([node]);
  await read();
  node.text = counter('svc_pusher_total_synced', 99);
  await scraper.release();
  expect(valuesOf(columns(), 'pusher_total_synced', 'node-0').at(-1)).toBe(99);
});

test('one process of several nodes is counted once', async () => {
  const nodes = [fakeNode('node-0', '', { pid: process.pid }), fakeNode('node-1', '', { pid: process.pid })];
  const { scraper, read, testbed } = watching(nodes);
  await read();
  await scraper.release();
  const text = await testbed.expose();
  const cpu = text.match(/^testbed_node_cpu_seconds_total.*$/gm);
  expect(cpu).toHaveLength(1);
  expect(cpu?.[0]).toContain('{node="all",group="embedded",run="test"}');
  expect(Number(cpu?.[0]?.split(' ').at(-1))).toBeGreaterThan(0);
});

test('a process of several nodes keeps its name when one of them is left', async () => {
  const nodes = [fakeNode('node-0', '', { pid: process.pid }), fakeNode('node-1', '', { pid: process.pid })];
  const { scraper, read, columns } = watching(nodes);
  await read();
  const [, second] = nodes as [Fake, Fake];
  Object.assign(second, { running: false, state: 'killed', pid: undefined });
  await read();
  await scraper.release();
  const cpu = columns().series.filter(({ name }) => name === 'testbed_node_cpu_seconds_total');
  expect(cpu.map(({ labels }) => labels['node'])).toEqual(['all']);
});

test('what a process uses is read before its node is waited for', async () => {
  const order: string[] = [];
  const node = fakeNode('node-0', '', {
    client: {
      metrics: () => {
        order.push('metrics');
        return Promise.resolve('');
      },
    },
    stats: () => {
      order.push('stats');
      return Promise.resolve({});
    },
  });
  const { scraper, read } = watching([node]);
  await read();
  await scraper.release();
  expect(order.slice(0, 2)).toEqual(['stats', 'metrics']);
});

test('where no process is visible, the driver reports the usage of a node', async () => {
  const node = fakeNode('node-0', '', { stats: () => Promise.resolve({ cpuMs: 2500, memoryBytes: 4096 }) });
  const { scraper, read, testbed } = watching([node]);
  await read();
  await scraper.release();
  const text = await testbed.expose();
  expect(text).toContain('testbed_node_cpu_seconds_total{node="node-0",group="svc-full",run="test"} 2.5');
  expect(text).toContain('testbed_node_rss_bytes{node="node-0",group="svc-full",run="test"} 4096');
});

test('a failure of the receiver ends the watch, and release throws it', async () => {
  const scraper = new Scraper({
    testbed: new TestbedMetrics('test'),
    onScrape: () => Promise.reject(new Error('disk full')),
  });
  scraper.watch({ clock, nodes: [fakeNode('node-0', '')], faults: { active: [] } });
  await expect(scraper.release()).rejects.toThrow('disk full');
});

test('two clusters are watched one after another, never at once', async () => {
  const { scraper } = watching([fakeNode('node-0', '')]);
  expect(() => scraper.watch({ clock, nodes: [], faults: { active: [] } })).toThrow('watched already');
  await scraper.release();
  scraper.watch({ clock, nodes: [], faults: { active: [] } });
  await scraper.release();
});

test('the more nodes, the less often they are read', () => {
  expect([1, 10, 50, 200].map(scrapeIntervalMs)).toEqual([1000, 1000, 5000, 20_000]);
});
