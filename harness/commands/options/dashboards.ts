import { type Command, Option } from 'commander';
import type { DashboardsFlags } from '../dashboards.ts';
import { intervalFlag, type RunCommand, whole } from './values.ts';

const DEFAULT_INTERVAL_MS = 2000;
const PORT_MAX = 65_535;

export function addDashboards(program: Command, run: RunCommand): void {
  program
    .command('dashboards')
    .description('run Prometheus and Grafana for a running cluster until interrupted')
    .option('--name <cluster>', 'name of the cluster (default: the only one)')
    .option('--port <port>', 'port of Prometheus, 0 for any free port (default: 9090)', whole(0, PORT_MAX))
    .option(
      '--grafana-port <port>',
      'port of Grafana, 0 for any free port (default: 3000)',
      whole(0, PORT_MAX),
    )
    .addOption(
      new Option('--interval <duration>', 'scrape interval')
        .argParser(intervalFlag)
        .default(DEFAULT_INTERVAL_MS, '2s'),
    )
    .option(
      '--prometheus <path>',
      'Prometheus executable (default: SVCNET_PROMETHEUS, then PATH, then its container image)',
    )
    .option(
      '--grafana <path>',
      'Grafana executable (default: SVCNET_GRAFANA, then PATH, then its container image)',
    )
    .option('--no-grafana', 'start only Prometheus')
    .option('--stop', 'stop the dashboards of the cluster')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Both listen on this machine only; Grafana shows the dashboards without a login, read-only.
Their data stays in the folder of the cluster until svcnet down, which also stops them.
Runs and loads on the cluster appear on the dashboards automatically.

Examples:
  svcnet dashboards
  svcnet dashboards --port 0 --grafana-port 0 --interval 1s
  svcnet dashboards --no-grafana --prometheus ./prometheus
  svcnet dashboards --stop`,
    )
    .action((flags: DashboardsFlags) =>
      run(flags, async (f, c) => (await import('../dashboards.ts')).dashboards(f, c)),
    );
}
