import { expect, test } from 'vitest';
import { serveTestbed } from '../../../../harness/metrics/endpoint.ts';
import { parseExposition, seriesKey } from '../../../../harness/metrics/exposition.ts';
import { TestbedMetrics } from '../../../../harness/metrics/testbed.ts';

/** All samples but buckets, without the run. */
async function samplesOf(testbed: TestbedMetrics): Promise<Record<string, number>> {
  const { samples } = parseExposition(await testbed.expose());
  return Object.fromEntries(
    samples
      .filter(({ name }) => !name.endsWith('_bucket'))
      .map(({ name, labels: { run, ...labels }, value }) => {
        expect(run).toBe('run-1');
        return [seriesKey({ name, labels }), value];
      }),
  );
}

test('every series has the run as a label', async () => {
  const testbed = new TestbedMetrics('run-1');
  testbed.scenario('smoke', '42');
  testbed.succeeded({ operation: 'upload', node: 'node-0' }, { latencyMs: 250, bytes: 4096 });
  const { samples } = parseExposition(await testbed.expose());
  expect(samples.length).toBeGreaterThan(5);
  expect(new Set(samples.map(({ labels }) => labels['run']))).toEqual(new Set(['run-1']));
});

test('a run exposes its scenarios, steps, conditions and operations', async () => {
  const testbed = new TestbedMetrics('run-1');
  testbed.scenario('smoke', '42');
  testbed.phase('smoke', 'upload', 1.5);
  testbed.assertion(true);
  testbed.assertion(true);
  testbed.assertion(false);
  testbed.succeeded({ operation: 'upload', node: 'node-0' }, { latencyMs: 250, bytes: 4097 });
  testbed.succeeded({ operation: 'upload', node: 'node-1' }, { latencyMs: 750, bytes: 4098 });
  testbed.failed({ operation: 'upload', node: 'node-1' }, { class: 'http.500' });
  testbed.scenarioEnded('smoke', false);
  expect(await samplesOf(testbed)).toMatchObject({
    'testbed_scenario_info{name="smoke",seed="42"}': 1,
    'testbed_scenario_result{name="smoke"}': 0,
    'testbed_phase_seconds{phase="upload",scenario="smoke"}': 1.5,
    'testbed_assertion_total{result="passed"}': 2,
    'testbed_assertion_total{result="failed"}': 1,
    'testbed_op_total{class="",op="upload",result="ok"}': 2,
    'testbed_op_total{class="http.500",op="upload",result="error"}': 1,
    'testbed_op_seconds_sum{op="upload",size_class="64KiB"}': 1,
    'testbed_op_seconds_count{op="upload",size_class="64KiB"}': 2,
    'testbed_op_bytes_total{op="upload"}': 8195,
  });
});

test('ledgers are counted together, with their values at the time of the scrape', async () => {
  const testbed = new TestbedMetrics('run-1');
  const ledger = { acknowledged: 10, found: 10, missing: 0 };
  testbed.ledger({ result: () => ledger });
  testbed.ledger({ result: () => ({ acknowledged: 5, missing: 1 }) });
  expect(await samplesOf(testbed)).toMatchObject({
    testbed_ledger_acked_total: 15,
    testbed_ledger_missing_total: 1,
  });
  ledger.acknowledged = 20;
  expect(await samplesOf(testbed)).toMatchObject({ testbed_ledger_acked_total: 25 });
});

test('nodes and their processes are shown as of the last look', async () => {
  const testbed = new TestbedMetrics('run-1');
  const node = { node: 'node-0', group: 'svc-full' };
  testbed.nodes([{ ...node, up: false }]);
  testbed.faults([{ kind: 'kill', target: 'node-0' }]);
  testbed.usage([{ ...node, cpuSeconds: 4, residentBytes: 1000 }]);
  expect(await samplesOf(testbed)).toMatchObject({
    'testbed_node_up{group="svc-full",node="node-0"}': 0,
    'testbed_fault_active{kind="kill",target="node-0"}': 1,
    'testbed_node_cpu_seconds_total{group="svc-full",node="node-0"}': 4,
    'testbed_node_rss_bytes{group="svc-full",node="node-0"}': 1000,
  });
  testbed.nodes([{ ...node, up: true }]);
  testbed.faults([]);
  testbed.usage([{ ...node, cpuSeconds: 1 }]);
  const later = await samplesOf(testbed);
  expect(later).toMatchObject({
    'testbed_node_up{group="svc-full",node="node-0"}': 1,
    'testbed_node_cpu_seconds_total{group="svc-full",node="node-0"}': 1,
  });
  expect(Object.keys(later).filter((key) => /fault_active|rss_bytes/.test(key))).toEqual([]);
});

test('a cluster started elsewhere has no start time', async () => {
  const testbed = new TestbedMetrics('run-1');
  expect(await testbed.expose()).not.toMatch(/^testbed_cluster_ready_seconds/m);
  testbed.clusterReady(2.5);
  expect(await samplesOf(testbed)).toMatchObject({ testbed_cluster_ready_seconds: 2.5 });
});

test('the endpoint serves the text on loopback, and names a port that is taken', async () => {
  const testbed = new TestbedMetrics('run-1');
  testbed.assertion(true);
  await using endpoint = await serveTestbed(testbed, 0);
  const answer = await fetch(endpoint.url);
  expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  expect(await answer.text()).toContain('testbed_assertion_total{result="passed",run="run-1"} 1');
  expect((await fetch(new URL('/', endpoint.url))).status).toBe(404);
  const { port } = new URL(endpoint.url);
  await expect(serveTestbed(testbed, Number(port))).rejects.toMatchObject({
    code: 'PORT_IN_USE',
    message: `port ${port} of 127.0.0.1 is already in use`,
  });
});
