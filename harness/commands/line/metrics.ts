/** `svcnet metrics` on the command line. */
import { type Command, Option } from 'commander';
import type { MetricsFlags } from '../metrics.ts';
import { intervalFlag, type RunCommand } from './values.ts';

export function addMetrics(program: Command, run: RunCommand): void {
  program
    .command('metrics')
    .description('print what a node, or all of a cluster, counts and measures')
    .argument('[node]', 'name of the node (default: all that run)')
    .option('--name <cluster>', 'name of the cluster; may be left out when there is only one')
    .option('--match <text>', 'only metrics with this text in their name, such as pushsync')
    .addOption(
      new Option('--rate [interval]', 'look twice, and add the growth per second (default interval: 5s)')
        .preset('5s')
        .argParser(intervalFlag),
    )
    .option('--all', 'also metrics that are 0')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Of a cluster, counters are summed, and of gauges the smallest, the median and the largest are shown. Names are without
the prefix of the dialect: a Prometheus sees svc_pusher_total_synced, or bee_pusher_total_synced.

Examples:
  svcnet metrics
  svcnet metrics node-0 --match accounting
  svcnet metrics --match pushsync --rate 5s`,
    )
    .action((node: string | undefined, flags: MetricsFlags) =>
      run(flags, async (f, c) => (await import('../metrics.ts')).metrics(node, f, c)),
    );
}
