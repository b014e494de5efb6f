/** `svcnet metrics` on the command line. */
import { type Command, Option } from 'commander';
import type { MetricsFlags } from '../metrics.ts';
import { intervalFlag, type RunCommand } from './values.ts';

export function addMetrics(program: Command, run: RunCommand): void {
  program
    .command('metrics')
    .description('print the metrics of a node, or of all nodes of a cluster')
    .argument('[node]', 'name of the node (default: all running nodes)')
    .option('--name <cluster>', 'name of the cluster (default: the only one)')
    .option('--match <text>', 'only metrics whose name contains this text, for example pushsync')
    .addOption(
      new Option('--rate [interval]', 'read twice and show the rate per second (default interval: 5s)')
        .preset('5s')
        .argParser(intervalFlag),
    )
    .option('--all', 'include metrics that are 0')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
For a cluster, counters are summed, and gauges are shown as minimum, median and maximum. Names lack the prefix of the
dialect: Prometheus sees svc_pusher_total_synced, or bee_pusher_total_synced.

Examples:
  svcnet metrics
  svcnet metrics node-0 --match accounting
  svcnet metrics --match pushsync --rate 5s`,
    )
    .action((node: string | undefined, flags: MetricsFlags) =>
      run(flags, async (f, c) => (await import('../metrics.ts')).metrics(node, f, c)),
    );
}
