import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  dashboardFiles,
  nodeTargets,
  testbedTargets,
} from '../../../../../harness/metrics/dashboards/files.ts';

const node = { name: 'node-0', debug: 'http://127.0.0.1:1635', flavour: 'svc', mode: 'full' };

function files(): Map<string, string> {
  const given = {
    nodes: [node],
    intervalMs: 1500,
    prometheus: 'http://127.0.0.1:9090',
    folder: '/some/where',
  };
  return new Map(dashboardFiles(given).map(({ path, content }) => [path, content]));
}

test('a node is scraped at its debug API, with the labels of its name and its group', () => {
  expect(JSON.parse(nodeTargets([node]))).toEqual([
    {
      targets: ['127.0.0.1:1635'],
      labels: { __scheme__: 'http', __metrics_path__: '/metrics', node: 'node-0', group: 'svc-full' },
    },
  ]);
});

test('an attached node may be behind HTTPS and below a path', () => {
  const debug = 'https://nodes.test/seven/';
  expect(JSON.parse(nodeTargets([{ ...node, debug }]))).toMatchObject([
    { targets: ['nodes.test:443'], labels: { __scheme__: 'https', __metrics_path__: '/seven/metrics' } },
  ]);
});

test('series of the harness keep their own labels', () => {
  expect(JSON.parse(testbedTargets('http://127.0.0.1:5/metrics'))).toEqual([
    { targets: ['127.0.0.1:5'], labels: { __scheme__: 'http', __metrics_path__: '/metrics' } },
  ]);
  const config = parse(files().get('prometheus/prometheus.yml') ?? '') as { scrape_configs: object[] };
  expect(config.scrape_configs).toContainEqual(
    expect.objectContaining({ job_name: 'testbed', honor_labels: true }),
  );
});

test('Prometheus scrapes at the requested interval, and reads the rules beside its file', () => {
  expect(parse(files().get('prometheus/prometheus.yml') ?? '')).toMatchObject({
    global: { scrape_interval: '1500ms', scrape_timeout: '1500ms' },
    rule_files: ['rules.yml'],
  });
  expect(files().get('prometheus/rules.yml')).toContain('alert: NodeDown');
});

test('Grafana finds Prometheus and all nine boards, and no user can change them', () => {
  const found = files();
  const source = parse(found.get('grafana/provisioning/datasources/prometheus.yml') ?? '') as object;
  expect(source).toMatchObject({
    datasources: [{ url: 'http://127.0.0.1:9090', isDefault: true, editable: false }],
  });
  const boards = parse(found.get('grafana/provisioning/dashboards/svcnet.yml') ?? '') as object;
  expect(boards).toMatchObject({
    providers: [{ allowUiUpdates: false, options: { path: '/some/where/grafana/boards' } }],
  });
  expect([...found.keys()].filter((path) => path.startsWith('grafana/boards/'))).toHaveLength(9);
});
