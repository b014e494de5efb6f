/** The program of Prometheus is beside promtool. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ALERT_RULES } from '../../dashboards/rules.ts';
import { prepare } from '../../harness/export/prepare.ts';
import { dashboardFiles } from '../../harness/metrics/dashboards/files.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { PROMTOOL } from './prometheus.ts';

const folder = temporaryFolder('svcnet-promtool');

const promtool = (...args: string[]) => execFileSync(PROMTOOL, args, { encoding: 'utf8', stdio: 'pipe' });

function written(): string {
  const nodes = [{ name: 'node-0', debug: 'http://127.0.0.1:1635', flavour: 'svc', mode: 'full' }];
  const options = { nodes, intervalMs: 2000, prometheus: 'http://127.0.0.1:9090', folder };
  for (const { path, content } of dashboardFiles(options)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return join(folder, 'prometheus');
}

test('promtool accepts the configuration, the targets and the rules', () => {
  expect(promtool('check', 'config', join(written(), 'prometheus.yml'))).toMatch(/SUCCESS: \d+ rules found/);
});

test('promtool accepts the files written by the first container of a compose network', async () => {
  const network = join(folder, 'network');
  await prepare({ SVCNET_DEFINITION: 'nodes: 2', SVCNET_SEED: '42', SVCNET_FOLDER: network });
  const config = join(network, 'dashboards', 'prometheus', 'prometheus.yml');
  expect(promtool('check', 'config', config)).toMatch(/SUCCESS: \d+ rules found/);
});

interface AlertCase {
  readonly alert: string;
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** Labels of those that fire. */
  readonly fires: readonly Readonly<Record<string, string>>[];
}

const RUN = { run: 'r' };
const CASES: readonly AlertCase[] = [
  {
    alert: 'WrongData',
    series: { 'testbed_op_total{run="r",class="data.mismatch",result="error"}': '0 0 1 1' },
    at: '30s',
    fires: [RUN],
  },
  {
    alert: 'ChunksLost',
    series: { 'testbed_ledger_missing_total{run="r"}': '0 0 7 7' },
    at: '30s',
    fires: [RUN],
  },
  {
    alert: 'ErrorsOutsideFaults',
    series: {
      'testbed_op_total{run="r",result="ok",class=""}': '0+98x30',
      'testbed_op_total{run="r",result="error",class="http.503"}': '0+2x30',
    },
    at: '4m',
    fires: [RUN],
  },
  {
    alert: 'ErrorsOutsideFaults',
    series: {
      'testbed_op_total{run="r",result="ok",class=""}': '0+98x30',
      'testbed_op_total{run="r",result="error",class="http.503"}': '0+2x30',
      'testbed_fault_active{run="r",kind="kill",target="node-1"}': '1x30',
    },
    at: '4m',
    fires: [],
  },
  {
    alert: 'ErrorsOutsideFaults',
    series: { 'testbed_op_total{run="r",result="ok",class=""}': '0+100x30' },
    at: '4m',
    fires: [],
  },
  {
    alert: 'NodeDown',
    series: {
      'testbed_node_up{run="r",node="node-1",group="g"}': '1 0 0 0',
      'testbed_node_up{run="r",node="node-2",group="g"}': '1 0 0 0',
      'testbed_fault_active{run="r",kind="kill",target="node-2"}': '_ 1 1 1',
      'testbed_fault_active{run="r",kind="partition",target="node-1"}': '1 1 1 1',
      'testbed_node_up{run="r",node="node-3",group="g"}': '1 0 0 0',
      'testbed_fault_active{run="r",kind="disk-full",target="node-3"}': '1 1 1 1',
      'testbed_node_up{run="r",node="node-4",group="g"}': '1 0 0 0',
      'testbed_fault_active{run="r",kind="rolling-restart",target="node-4"}': '_ 1 1 1',
    },
    at: '30s',
    fires: [
      { ...RUN, node: 'node-1', group: 'g' },
      { ...RUN, node: 'node-3', group: 'g' },
    ],
  },
  {
    alert: 'PushBacklogGrows',
    series: {
      'svc_pusher_total_to_push{node="a"}': '0+20x120',
      'svc_pusher_total_synced{node="a"}': '0+10x120',
      'bee_pusher_total_to_push{node="b"}': '0+20x120',
      'bee_pusher_total_synced{node="b"}': '0+20x120',
    },
    at: '15m',
    fires: [{ node: 'a' }],
  },
  {
    alert: 'MemoryGrows',
    series: {
      // A tenth of the previous value, each hour.
      'testbed_node_rss_bytes{run="r",node="a",group="g"}': '100000000+28000x600',
      'testbed_node_rss_bytes{run="r",node="b",group="g"}': '100000000x600',
    },
    at: '90m',
    fires: [{ ...RUN, node: 'a', group: 'g' }],
  },
];

test('every alert is in the table', () => {
  const fired = CASES.filter(({ fires }) => fires.length > 0).map(({ alert }) => alert);
  expect(fired.toSorted()).toEqual(ALERT_RULES.map(({ alert }) => alert).toSorted());
});

test.each(CASES)('$alert fires for $fires.length', ({ alert, series, at, fires }) => {
  const rule = ALERT_RULES.find((each) => each.alert === alert);
  const file = join(written(), 'test.yml');
  const expression = `count(ALERTS{alertname="${alert}",alertstate="firing"})`;
  writeFileSync(
    file,
    stringify({
      rule_files: ['rules.yml'],
      evaluation_interval: '5s',
      tests: [
        {
          interval: '10s',
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          promql_expr_test: [
            {
              expr: `ALERTS{alertname="${alert}",alertstate="firing"}`,
              eval_time: at,
              exp_samples: fires.map((labels) => ({
                labels: `ALERTS${JSON.stringify({ alertname: alert, alertstate: 'firing', severity: rule?.severity, ...labels }).replaceAll(/"(\w+)":/g, '$1=')}`,
                value: 1,
              })),
            },
            {
              expr: expression,
              eval_time: at,
              exp_samples: fires.length === 0 ? [] : [{ labels: '{}', value: fires.length }],
            },
          ],
        },
      ],
    }),
  );
  expect(promtool('test', 'rules', file)).toContain('SUCCESS');
});
