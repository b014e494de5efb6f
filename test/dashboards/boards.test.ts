/**
 * A cluster under load with cheques, pulls, evictions, a restart and a killed node, scraped by a real Prometheus that
 * `svcnet dashboards` starts: SVCNET_PROMETHEUS, or the one on the path.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALERT_RULES, RECORDING_RULES } from '../../dashboards/rules.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { until } from '../../harness/scenario.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  choices,
  type GrafanaBoard,
  PrometheusApi,
  type Range,
  readBoards,
  substituted,
} from './prometheus.ts';
import { slowed } from './slowed.ts';
import { traffic } from './traffic.ts';

const CLI = fileURLToPath(new URL('../../harness/cli.ts', import.meta.url));
const RUN = 'traffic-42';
/** Each node gives up chunks within seconds. */
const CAPACITY = 100;
const READY_WITHIN_MS = 180_000;
const FIRES_WITHIN_MS = 180_000;

const MOVED: readonly (readonly [metric: string, by: number])[] = [
  ['swap_cheques_sent', 1],
  ['swap_cheques_received', 1],
  ['pullsync_chunks_delivered', 1],
  ['localstore_evicted_count', 1],
  ['localstore_storage_radius', 1],
  ['pushsync_forwarder', 1],
  ['retrieval_request_success_count', 1],
  ['postage_listener_pages_taken_back', 1],
  ['op_total', 10],
  ['ledger_acked_total', 100],
  ['fault_active', 1],
];

const folder = temporaryFolder('svcnet-dashboards');
const stateDir = join(folder, 'state');
const boards = readBoards();

async function startDashboards(name: string): Promise<{ child: ChildProcess; url: string }> {
  const args = ['dashboards', '--name', name, '--no-grafana', '--port', '0', '--interval', '1s', '--json'];
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, SVCNET_STATE: stateDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const probe = () => {
    if (child.exitCode !== null) throw new Error(`svcnet dashboards has ended: ${stderr}`);
    const url = /"url": "([^"]+)"/.exec(stdout)?.[1];
    return Promise.resolve(
      url === undefined ? { missing: `it has printed: ${stdout}${stderr}` } : { done: url },
    );
  };
  const url = await until('there is no Prometheus', probe, { timeoutMs: READY_WITHIN_MS });
  return { child, url };
}

describe.each([
  { dialect: 'svc', namespace: 'svc' },
  { dialect: 'swarm', namespace: 'bee' },
] as const)('a cluster with the dialect $dialect', ({ dialect, namespace }) => {
  const name = `boards-${dialect}`;
  let cluster: Cluster;
  let dashboards: { child: ChildProcess; url: string };
  let api: PrometheusApi;
  let range: Range;
  let chosen: Record<string, string>;

  beforeAll(async () => {
    cluster = await Cluster.start({
      name,
      stateDir,
      dialect,
      driver: 'process',
      seed: 42,
      credit: 'low',
      nodes: [{ count: 5, options: { 'reserve-capacity': CAPACITY } }],
    });
    dashboards = await startDashboards(name);
    api = new PrometheusApi(dashboards.url);
    await until(
      'not every node is scraped',
      async () => {
        const up = await api.instant('up{job="nodes"} == 1', Date.now() / 1000);
        return up.length === cluster.nodes.length ? { done: undefined } : { missing: `${up.length} are` };
      },
      { timeoutMs: READY_WITHIN_MS },
    );
    const start = Date.now() / 1000;
    const result = await runScenarios({
      planned: planScenarios([traffic], new Map()),
      attachTo: name,
      seed: 42n,
      stateDir,
      report: join(folder, `report-${dialect}`),
      name: RUN,
      command: 'none',
      signal: new AbortController().signal,
    });
    expect(result.scenarios.map(({ result: how, error }) => [how, error])).toEqual([['passed', undefined]]);
    // Queries are evaluated once a second; the last scrape must lie before one.
    await sleep(2000);
    range = { start, end: Date.now() / 1000 };
    chosen = { __rate_interval: '15s', __range: '60s' };
    for (const variable of boards[0]?.templating.list ?? []) {
      if (variable.type !== 'query') continue;
      const found = await choices(api, variable, chosen);
      chosen[variable.name] = variable.name === 'run' ? RUN : `(${found.join('|')})`;
    }
  });

  afterAll(async () => {
    dashboards.child.kill('SIGKILL');
    await cluster.stop();
  });

  test('every variable has its choices', async () => {
    for (const board of boards) {
      const found = Object.fromEntries(
        await Promise.all(
          board.templating.list
            .filter(({ type }) => type === 'query')
            .map(async (variable) => [variable.name, await choices(api, variable, chosen)] as const),
        ),
      );
      expect(found, board.title).toMatchObject({
        namespace: [namespace],
        group: ['svc-full'],
        node: ['node-0', 'node-1', 'node-2', 'node-3', 'node-4'],
      });
      expect(found['run'], board.title).toContain(RUN);
    }
  });

  test.each(MOVED)('the load has moved %s', async (metric, by) => {
    const seen = await api.range(`sum({__name__=~"(svc|bee|testbed)_${metric}"}) >= ${by}`, range);
    expect(seen).not.toEqual([]);
  });

  test.each(boards.map((board) => [board.title, board] as const))(
    '%s: no panel is empty',
    async (_title, board) => {
      expect(await emptyQueries(board)).toEqual([]);
    },
  );

  test('an empty panel is named', async () => {
    const board = boards.find(({ title }) => title === 'svcnet 1: Overview') as GrafanaBoard;
    const renamed = JSON.parse(
      JSON.stringify(board).replaceAll('pushsync_total_sent', 'pushsync_renamed'),
    ) as GrafanaBoard;
    expect(await emptyQueries(renamed)).toEqual([
      expect.stringMatching(/^svcnet 1: Overview \/ Chunks: .*pushsync_renamed/),
    ]);
  });

  test('every rule is evaluated and has data', async () => {
    const states = await api.rules();
    expect(states.filter(({ health, lastError }) => health !== 'ok' || lastError)).toEqual([]);
    expect(states).toHaveLength(RECORDING_RULES.length + ALERT_RULES.length);
    const empty: string[] = [];
    for (const { name: rule, query } of [
      ...RECORDING_RULES.map(({ record }) => ({ name: record, query: record })),
      ...ALERT_RULES.map(({ alert, value }) => ({ name: alert, query: value })),
    ]) {
      if ((await api.range(query, range)).length === 0) empty.push(`${rule}: ${query}`);
    }
    expect(empty).toEqual([]);
  });

  test('a node killed on purpose is a fault and no alert; one that dies is an alert', async () => {
    const faults = await api.range(`testbed_fault_active{run="${RUN}"}`, range);
    expect(faults.map(({ metric }) => metric)).toContainEqual(
      expect.objectContaining({ kind: 'kill', target: 'node-4' }),
    );
    expect((await downAlerts()).map(({ labels }) => labels['node'])).toEqual([]);
    process.kill(cluster.node(2).pid as number, 'SIGKILL');
    await until(
      'no alert fires',
      async () => {
        const firing = (await downAlerts()).filter(({ state }) => state === 'firing');
        const nodes = firing.map(({ labels }) => labels['node']);
        return nodes.includes('node-2') ? { done: undefined } : { missing: `firing: ${nodes.join(', ')}` };
      },
      { timeoutMs: FIRES_WITHIN_MS },
    );
    expect((await downAlerts()).map(({ labels }) => labels['node'])).toEqual(['node-2']);
  });

  // Dialects have other metrics and the same windows: one dialect is enough.
  const scrapedMoreSeldom = dialect === 'svc' ? [[5, 15, 30, 60]] : [];
  test.for(scrapedMoreSeldom)(
    'no panel is empty where Prometheus scrapes more seldom',
    { timeout: 120_000 },
    async (everyS) => {
      const series = await api.samples('{__name__!=""}', range);
      // Nothing asks its nodes any more.
      await cluster.stop();
      const other = await slowed(series, range, { everyS, folder: join(folder, 'slowed') });
      try {
        const empty: string[] = [];
        for (const [every, slow] of other.ranges) {
          const values = { ...chosen, __rate_interval: `${4 * every}s`, __range: `${60 * every}s` };
          for (const { title, expr } of boards.flatMap(queriesOf)) {
            const seen = await other.api.range(substituted(expr, values), slow, every);
            if (seen.length === 0) empty.push(`every ${every} s: ${title}`);
          }
        }
        expect(empty).toEqual([]);
      } finally {
        other.stop();
      }
    },
  );

  async function emptyQueries(board: GrafanaBoard): Promise<string[]> {
    const empty: string[] = [];
    for (const { title, expr } of queriesOf(board)) {
      const query = substituted(expr, chosen);
      if ((await api.range(query, range)).length === 0) empty.push(`${board.title} / ${title}: ${query}`);
    }
    return empty;
  }

  const downAlerts = async () =>
    (await api.alerts()).filter(
      ({ labels, state }) => labels['alertname'] === 'NodeDown' && state === 'firing',
    );
});

function queriesOf({ panels, annotations }: GrafanaBoard): { title: string; expr: string }[] {
  return [
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr }))),
    ...annotations.list.map(({ name, expr }) => ({ title: `annotation ${name}`, expr })),
  ];
}
