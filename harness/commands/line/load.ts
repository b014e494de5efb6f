/** `svcnet load` on the command line. */
import { type Command, Option } from 'commander';
import { LOAD_PROFILES } from '../../load/plan.ts';
import { SCRIPTS } from '../../load/scripts.ts';
import {
  beeBinaryOption,
  collect,
  creditOption,
  dialectOption,
  driverOption,
  metricsPortOption,
  NODES_MAX,
  type RunCommand,
  seedFlag,
  whole,
  withFlavours,
  word,
} from './values.ts';

const OBJECTS_MAX = 100_000;
const FILES_MAX = 10_000;
const VUS_MAX = 1000;

export function addLoad(program: Command, run: RunCommand): void {
  const loads = Object.entries(SCRIPTS).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`);
  program
    .command('load')
    .description('put a load on a cluster with k6, measure it, and check that everything uploaded is there')
    .argument('[load]', `what is done: ${Object.keys(SCRIPTS).join(', ')}`)
    .option('--script <file>', 'your own k6 script instead; it may import svcnet/k6')
    .addOption(
      new Option(
        '--profile <profile>',
        `how the load goes over time: ${LOAD_PROFILES.join(', ')} (default: constant)`,
      ).argParser(word(LOAD_PROFILES)),
    )
    .option('--rate <rate>', 'iterations started by the clock, such as 20/s or 90/m (default: 10/s)')
    .option('--vus <count>', 'users at once instead; each waits for its answers', whole(1, VUS_MAX))
    .option('--duration <duration>', 'length of the measured part (default: 1m; of soak 30m)')
    .option(
      '--warmup <duration>',
      'length of what comes before it and counts nowhere (default: 3s; 0s with --script)',
    )
    .option(
      '--sizes <sizes>',
      'sizes of uploads: 4KiB, 4KiB..1MiB, lognormal:64KiB, or several with weights: 4KiB*9,1MiB (default: 64KiB)',
    )
    .addOption(
      new Option(
        '--mode <mode>',
        'when an upload is answered: direct, taken by the network; deferred, stored locally (default: direct)',
      ).argParser(word(['direct', 'deferred'] as const)),
    )
    .option('--encrypt', 'encrypt what is uploaded')
    .option('--redundancy <level>', 'level of redundancy, 0 to 4 (default: 0)', whole(0, 4))
    .option(
      '--reads <choice>',
      'which objects are read: zipf:EXPONENT, or cold, past all caches (default: zipf:1.1)',
    )
    .option(
      '--objects <count>',
      'objects uploaded before the load, for it to read (default: 50)',
      whole(1, OBJECTS_MAX),
    )
    .option('--read-share <percent>', 'share of downloads in mixed, in percent (default: 80)', whole(0, 100))
    .option('--files <count>', 'files of each directory (default: 10)', whole(1, FILES_MAX))
    .option('--on <node>', 'upload to this node only (default: all in turn)')
    .addOption(
      new Option(
        '--threshold <condition>',
        "such as 'p95<500ms', 'errors<1%', 'rate>=20/s', 'upload:p99<1s' (repeatable)",
      )
        .argParser(collect)
        .default([], 'errors<1%'),
    )
    .option(
      '--find-limit <condition>',
      "search for the highest rate at which it holds, such as 'p95<500ms', and for what limits it; begins at --rate",
    )
    .option('--k6 <path>', 'program of k6 (default: SVCNET_K6, then PATH, then its container image)')
    .option('--name <cluster>', 'load this running cluster instead of a fresh one')
    .option('-n, --nodes <count>', 'nodes of our own in the fresh cluster (default: 5)', whole(0, NODES_MAX))
    .addOption(withFlavours())
    .addOption(beeBinaryOption())
    .option('-f, --file <path>', 'cluster file (YAML) of the fresh cluster; flags win over it')
    .addOption(driverOption())
    .addOption(creditOption('what suits profile and nodes'))
    .addOption(dialectOption())
    .option('--seed <number>', 'all content and all choices follow from it (default: drawn)', seedFlag)
    .option('--keep', 'leave the fresh cluster running')
    .option('--report <folder>', 'where the report goes (default: .svcnet/runs)')
    .addOption(metricsPortOption())
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Loads:
${loads.join('\n')}

With --rate latency counts from the time at which an iteration was meant to start, so that waiting for a slow network is
part of it. Iterations that k6 could not start because every user was waiting are dropped; more than 1 % fails the run.

Exits with 0 when everything held, with 99 when only thresholds did not, with 1 when something else failed, such as a
missing chunk, with 2 when the load could not be run.

Examples:
  svcnet load upload --rate 20/s --duration 1m --threshold 'p95<500ms'
  svcnet load mixed --vus 10 --sizes lognormal:64KiB --name local
  svcnet load upload --find-limit 'p95<500ms'
  svcnet load --script my.js --vus 5 --duration 30s`,
    )
    .action((name: string | undefined, flags) =>
      run(flags, async (f, c) => (await import('../load.ts')).load(name, f, c)),
    );
}
