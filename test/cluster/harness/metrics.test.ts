import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { pickFreePorts } from '../../../harness/base/machine/ports.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { increase } from '../../../harness/metrics/series.ts';
import { readSeries } from '../../../harness/metrics/series-file.ts';
import type { MetricRow } from '../../../harness/metrics/summary.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { svcnetHere } from '../svcnet.ts';

const stateDir = temporaryFolder('svcnet-metrics');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({ name: 'net', nodes: 3, seed: 7, stateDir, driver: 'embedded' });
});
afterAll(() => net.stop());

const svcnet = (...args: string[]) => svcnetHere(args, { stateDir });

test('metrics sums the counters of all nodes, or shows a single node', async () => {
  const { reference } = await net.node(0).bytes.upload(new Uint8Array(40_000).fill(7));
  await net.synced(reference);
  const { stdout } = await svcnet('metrics', '--match', 'pusher', '--json');
  const { nodes, metrics } = JSON.parse(stdout) as { nodes: string[]; metrics: MetricRow[] };
  expect(nodes).toEqual(['node-0', 'node-1', 'node-2']);
  const synced = metrics.find(({ name }) => name === 'pusher_total_synced');
  expect(synced).toMatchObject({ kind: 'counter', nodes: 3, min: 0, perSecond: null });
  expect(synced?.total).toBe(synced?.max);
  const one = await svcnet('metrics', 'node-1', '--match', 'pusher_total_synced');
  expect(one.stdout).toContain('net · node-1');
  expect(one.stdout).toMatch(/pusher_total_synced +0 +Attempts finished/);
});

test('a rate is computed from two looks', async () => {
  const { stdout } = await svcnet('metrics', '--match', 'api_request_count', '--rate', '300ms', '--json');
  const { metrics } = JSON.parse(stdout) as { metrics: MetricRow[] };
  // The second look is itself a request.
  expect(metrics[0]?.perSecond).toBeGreaterThan(0);
});

test('refuses an unknown node, a text that no name contains and a stopped node, with the next step', async () => {
  const unknown = await svcnet('metrics', 'node-7');
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toContain("no node 'node-7', did you mean 'node-");
  const nothing = await svcnet('metrics', '--match', 'pushsink');
  expect(nothing.code).toBe(2);
  expect(nothing.stderr).toMatch(/no metric name contains 'pushsink'\nNames start with: .*pushsync/);
  await net.node(2).kill();
  const killed = await svcnet('metrics', 'node-2');
  expect(killed.stderr).toContain('node-2 has no metrics: it is killed\nStart it with: svcnet start node-2');
  const others = JSON.parse((await svcnet('metrics', '--json')).stdout) as { nodes: string[] };
  expect(others.nodes).toEqual(['node-0', 'node-1']);
  await net.node(2).start();
});

test('a run keeps the series of its nodes, and can be scraped while it runs', async () => {
  const [port] = await pickFreePorts(1);
  const report = join(stateDir, 'report');
  const run = svcnet(
    'run',
    'upload',
    '--name',
    'net',
    '--report',
    report,
    '--metrics-port',
    String(port),
    '--json',
  );
  let scraped = '';
  const hasOperations = async () => {
    scraped = await fetch(`http://127.0.0.1:${port}/metrics`).then(
      (answer) => answer.text(),
      () => 'not yet',
    );
    return scraped.includes('testbed_op_total{');
  };
  await vi.waitUntil(hasOperations, { timeout: 120_000, interval: 50 });
  expect((await run).code).toBe(0);
  expect(scraped).toMatch(/^testbed_scenario_info\{name="upload",seed="\d+",run=".*-upload-\d+"\} 1$/m);
  expect(scraped).toMatch(/^testbed_node_up\{node="node-1",group="svc-full",run=".*"\} 1$/m);
  const { series: file, costs } = JSON.parse(readFileSync(join(report, 'report.json'), 'utf8')) as {
    series: string;
    costs: Readonly<Record<string, number>>;
  };
  expect(file).toBe('metrics.jsonl');
  expect(costs['cpuSecondsPerGb']).toBeGreaterThan(0);
  expect(costs['peakMemory']).toBeGreaterThan(2 ** 20);
  const kept = await readSeries(
    report,
    ({ name }) => name === 'pushsync_total_sent' || name === 'testbed_op_total',
  );
  const sent = kept?.series.find(({ node, name }) => node === 'node-0' && name === 'pushsync_total_sent');
  expect(increase(sent?.values ?? [])).toBeGreaterThan(0);
  expect(kept?.series.some(({ name }) => name === 'testbed_op_total')).toBe(true);
});
