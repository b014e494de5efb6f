import { type Command, Option } from 'commander';
import type { DashboardsFlags } from '../dashboards.ts';
import { intervalFlag, type RunCommand, whole } from './values.ts';

const DEFAULT_INTERVAL_MS = 2000;
const PORT_MAX = 65_535;

export function addDashboards(program: Command, run: RunCommand): void {
  program
    .command('dashboards')
    .description('start Prometheus and Grafana for a running cluster, until they are interrupted')
    .option('--name <cluster>', 'name of the cluster; may be left out when there is only one')
    .option('--port <port>', 'port of Prometheus, 0 for any that is free (default: 9090)', whole(0, PORT_MAX))
    .option(
      '--grafana-port <port>',
      'port of Grafana, 0 for any that is free (default: 3000)',
      whole(0, PORT_MAX),
    )
    .addOption(
      new Option('--interval <duration>', 'time between two scrapes of a node')
        .argParser(intervalFlag)
        .default(DEFAULT_INTERVAL_MS, '2s'),
    )
    .option(
      '--prometheus <path>',
      'program of Prometheus (default: SVCNET_PROMETHEUS, the one on the path, or an image)',
    )
    .option(
      '--grafana <path>',
      'program of Grafana (default: SVCNET_GRAFANA, the one on the path, or an image)',
    )
    .option('--no-grafana', 'start Prometheus alone')
    .option('--stop', 'end those that run for the cluster, and start none')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Both are reached from this machine alone; Grafana shows the boards without a login and lets nobody change them.
Their data stays in the folder of the cluster until it is removed by down, which ends them as well.
A run or a load on the cluster appears on the boards by itself.

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
