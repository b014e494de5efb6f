/**
 * Read by Prometheus and Grafana, in one folder:
 *   prometheus/prometheus.yml       prometheus/rules.yml
 *   prometheus/targets/nodes.json   targets/testbed-*.json   what is scraped; reread when it changes
 *   grafana/provisioning/           grafana/boards/*.json
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';

/** Written by `dashboards/write.ts`. */
const GENERATED = fileURLToPath(new URL('../../../dashboards/generated', import.meta.url));
const RULES = 'rules.yml';
const EVALUATION_MS = 5000;

export const NODE_TARGETS = 'prometheus/targets/nodes.json';
export const CONFIG = 'prometheus/prometheus.yml';
export const PROVISIONING = 'grafana/provisioning';
export const HOME_BOARD = 'grafana/boards/svcnet-overview.json';

export interface DashboardFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly content: string;
}

export interface ScrapedPlace {
  readonly name: string;
  /** URL of its debug API. */
  readonly debug: string;
  readonly flavour: string;
  readonly mode: string;
}

export interface DashboardOptions {
  readonly nodes: readonly ScrapedPlace[];
  /** Between scrapes. */
  readonly intervalMs: number;
  /** URL as Grafana reaches it. */
  readonly prometheus: string;
  /** As Grafana finds it. */
  readonly folder: string;
}

export function dashboardFiles({ nodes, intervalMs, prometheus, folder }: DashboardOptions): DashboardFile[] {
  const boards = readdirSync(GENERATED).filter((name) => name.endsWith('.json'));
  return [
    { path: CONFIG, content: prometheusConfig(intervalMs) },
    { path: `prometheus/${RULES}`, content: readFileSync(join(GENERATED, RULES), 'utf8') },
    { path: NODE_TARGETS, content: nodeTargets(nodes) },
    {
      path: `${PROVISIONING}/datasources/prometheus.yml`,
      content: stringify({
        apiVersion: 1,
        datasources: [
          {
            name: 'Prometheus',
            uid: 'svcnet-prometheus',
            type: 'prometheus',
            access: 'proxy',
            url: prometheus,
            isDefault: true,
            editable: false,
            jsonData: { timeInterval: `${intervalMs}ms` },
          },
        ],
      }),
    },
    {
      path: `${PROVISIONING}/dashboards/svcnet.yml`,
      content: stringify({
        apiVersion: 1,
        providers: [
          {
            name: 'svcnet',
            type: 'file',
            disableDeletion: true,
            allowUiUpdates: false,
            options: { path: `${folder}/grafana/boards` },
          },
        ],
      }),
    },
    ...boards.map((name) => ({
      path: `grafana/boards/${name}`,
      content: readFileSync(join(GENERATED, name), 'utf8'),
    })),
  ];
}

/** Paths are relative to the file. */
function prometheusConfig(intervalMs: number): string {
  const duration = `${intervalMs}ms`;
  return stringify({
    global: {
      scrape_interval: duration,
      scrape_timeout: duration,
      evaluation_interval: `${EVALUATION_MS}ms`,
    },
    rule_files: [RULES],
    scrape_configs: [
      { job_name: 'nodes', file_sd_configs: [{ files: ['targets/nodes.json'] }] },
      // Labels such as node name what is measured.
      { job_name: 'testbed', honor_labels: true, file_sd_configs: [{ files: ['targets/testbed-*.json'] }] },
    ],
  });
}

export function nodeTargets(nodes: readonly ScrapedPlace[]): string {
  return targetFile(
    nodes.map(({ name, debug, flavour, mode }) => ({
      url: new URL(`${debug.replace(/\/$/, '')}/metrics`),
      labels: { node: name, group: `${flavour}-${mode}` },
    })),
  );
}

/** @param url of the harness, such as `http://127.0.0.1:9464/metrics` */
export function testbedTargets(url: string): string {
  return targetFile([{ url: new URL(url), labels: {} }]);
}

function targetFile(
  targets: readonly { readonly url: URL; readonly labels: Readonly<Record<string, string>> }[],
): string {
  const document = targets.map(({ url, labels }) => ({
    targets: [url.port === '' ? `${url.hostname}:${url.protocol === 'https:' ? 443 : 80}` : url.host],
    labels: {
      __scheme__: url.protocol.replace(':', ''),
      __metrics_path__: url.pathname,
      ...labels,
    },
  }));
  return `${JSON.stringify(document, null, 2)}\n`;
}
