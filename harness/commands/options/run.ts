/** `svcnet run` on the command line. */
import { type Command, Option } from 'commander';
import {
  beeBinaryOption,
  coldGossipOption,
  collect,
  creditOption,
  dialectOption,
  dishonestOption,
  driverOption,
  linkFaultsOption,
  MIXED_NOTE,
  machineFaultsOption,
  metricsPortOption,
  NODES_MAX,
  profileOption,
  type RunCommand,
  seedFlag,
  trustOption,
  whole,
  withFlavours,
} from './values.ts';

const REPEATS_MAX = 10_000;
const PARALLEL_MAX = 16;

export function addRun(program: Command, run: RunCommand): void {
  program
    .command('run')
    .description('run scenarios on a fresh or running cluster; exits with 0 only if none failed')
    .argument('[scenarios...]', 'scenario names, paths of scenario files, or the file of one minimised run')
    .option(
      '--list',
      'list scenarios with their parameters, tags and suites; with names, list only those scenarios',
    )
    .option('--suite <name>', 'run the scenarios of a suite: quick, ci or nightly')
    .option('--tag <tag>', 'run the scenarios with this tag or in this group')
    .option('--checks <file>', "run the checks listed in a file of the public network's check tool (YAML)")
    .option('--name <cluster>', 'run on this running cluster instead of a fresh one')
    .option(
      '-n, --nodes <count>',
      'number of svc nodes in the fresh cluster (default: what the scenarios need)',
      whole(0, NODES_MAX),
    )
    .addOption(withFlavours())
    .addOption(dishonestOption())
    .addOption(machineFaultsOption())
    .addOption(beeBinaryOption())
    .option('-f, --file <path>', 'cluster file (YAML) of the fresh cluster; options override it')
    .addOption(trustOption())
    .addOption(driverOption())
    .addOption(profileOption())
    .addOption(creditOption('what the scenarios need'))
    .addOption(dialectOption())
    .addOption(coldGossipOption())
    .addOption(linkFaultsOption())
    .option('--seed <number>', 'seed for every random choice (default: random)', seedFlag)
    .option(
      '--repeat <count>',
      'number of runs, with this seed and the following ones (default: 1)',
      whole(1, REPEATS_MAX),
    )
    .option('--until-failure', 'with --repeat: stop after the first run that failed')
    .option(
      '--parallel <count>',
      'clusters at once, for scenarios that want different ones (default: one for each core, at most 4; 1 for a cluster that options describe)',
      whole(1, PARALLEL_MAX),
    )
    .option('--keep', 'leave the last fresh cluster running')
    .addOption(
      new Option('--set <key=value>', 'parameter of the scenarios (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--report <folder>', 'folder for the report (default: .svcnet/runs)')
    .addOption(metricsPortOption())
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText('after', MIXED_NOTE)
    .action((names: string[], flags) =>
      run(flags, async (f, c) => (await import('../run.ts')).run(names, f, c)),
    );
}
