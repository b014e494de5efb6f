/** `svcnet load` on the command line. */
import { type Command, Option } from 'commander';
import { LOAD_PROFILES } from '../../run/load/plan.ts';
import { SCRIPTS } from '../../run/load/scripts.ts';
import {
  beeBinaryOption,
  collect,
  creditOption,
  dialectOption,
  dishonestOption,
  driverOption,
  metricsPortOption,
  NODES_MAX,
  oneOf,
  type RunCommand,
  seedFlag,
  trustOption,
  whole,
  withFlavours,
} from './values.ts';

const OBJECTS_MAX = 100_000;
const FILES_MAX = 10_000;
const VUS_MAX = 1000;

export function addLoad(program: Command, run: RunCommand): void {
  const loads = Object.entries(SCRIPTS).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`);
  program
    .command('load')
    .description('load a cluster with k6, measure it, and verify that every upload is retrievable')
    .argument('[load]', `load: ${Object.keys(SCRIPTS).join(', ')}`)
    .option('--script <file>', 'your own k6 script instead; it may import svcnet/k6')
    .addOption(
      new Option(
        '--profile <profile>',
        `shape of the load over time: ${LOAD_PROFILES.join(', ')} (default: constant)`,
      ).argParser(oneOf(LOAD_PROFILES)),
    )
    .option('--rate <rate>', 'arrival rate of iterations, for example 20/s or 90/m (default: 10/s)')
    .option('--vus <count>', 'concurrent users instead; each waits for its responses', whole(1, VUS_MAX))
    .option('--duration <duration>', 'length of the measured phase (default: 1m; soak: 30m)')
    .option('--warmup <duration>', 'length of the unmeasured phase before it (default: 3s; 0s with --script)')
    .option(
      '--sizes <sizes>',
      'sizes of uploads: 4KiB, 4KiB..1MiB, lognormal:64KiB, or several with weights: 4KiB*9,1MiB (default: 64KiB)',
    )
    .addOption(
      new Option(
        '--mode <mode>',
        'when an upload is answered: direct, stored by the network; deferred, stored locally (default: direct)',
      ).argParser(oneOf(['direct', 'deferred'] as const)),
    )
    .option('--encrypt', 'encrypt uploads')
    .option('--redundancy <level>', 'redundancy level, 0 to 4 (default: 0)', whole(0, 4))
    .option(
      '--reads <choice>',
      'which objects are read: zipf:EXPONENT, or cold, which bypasses caches (default: zipf:1.1)',
    )
    .option(
      '--objects <count>',
      'objects uploaded in advance, to be read (default: 50)',
      whole(1, OBJECTS_MAX),
    )
    .option('--read-share <percent>', 'share of downloads in mixed, in percent (default: 80)', whole(0, 100))
    .option('--files <count>', 'files per directory (default: 10)', whole(1, FILES_MAX))
    .option('--on <node>', 'upload to this node only (default: all nodes in turn)')
    .addOption(
      new Option(
        '--threshold <condition>',
        "condition to meet: 'p95<500ms', 'errors<1%', 'rate>=20/s', 'upload:p99<1s' (repeatable)",
      )
        .argParser(collect)
        .default([], 'errors<1%'),
    )
    .option(
      '--find-limit <condition>',
      "find the highest rate that meets a condition, for example 'p95<500ms', and the bottleneck; starts at --rate",
    )
    .option('--k6 <path>', 'k6 executable (default: SVCNET_K6, then PATH, then its container image)')
    .option('--name <cluster>', 'load this running cluster instead of a fresh one')
    .option(
      '-n, --nodes <count>',
      'number of svc nodes in the fresh cluster (default: 5)',
      whole(0, NODES_MAX),
    )
    .addOption(withFlavours())
    .addOption(dishonestOption())
    .addOption(beeBinaryOption())
    .option('-f, --file <path>', 'cluster file (YAML) of the fresh cluster; options override it')
    .addOption(trustOption())
    .addOption(driverOption())
    .addOption(creditOption('depends on profile and nodes'))
    .addOption(dialectOption())
    .option('--seed <number>', 'seed for all content and every random choice (default: random)', seedFlag)
    .option('--keep', 'leave the fresh cluster running')
    .option('--report <folder>', 'folder for the report (default: .svcnet/runs)')
    .addOption(metricsPortOption())
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
Loads:
${loads.join('\n')}

With --rate, latency is measured from the scheduled start of an iteration, so it includes the time spent waiting for a
slow network. Iterations that k6 could not start because every user was busy are dropped; more than 1 % fails the run.

Exits with 0 when every check passed, with 99 when only thresholds failed, with 1 when anything else failed, such as a
missing chunk, with 2 when the load could not run.

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
