/** `svcnet up` on the command line. */
import { type Command, Option } from 'commander';
import { compile } from '../../base/machine/compile.ts';
import { PRESET_NAMES } from '../../cluster/plan/presets/names.ts';
import { compileCacheDir } from '../../cluster/state/compile-cache.ts';
import { svcProgram } from '../../flavours/svc-program.ts';
import type { CommandContext } from '../context.ts';
import type { UpFlags } from '../up.ts';
import {
  beeBinaryOption,
  coldGossipOption,
  collect,
  creditOption,
  dialectOption,
  dishonestOption,
  driverOption,
  limitFlag,
  linkFaultsOption,
  MIXED_NOTE,
  machineFaultsOption,
  NODES_MAX,
  oneOf,
  profileOption,
  type RunCommand,
  seedFlag,
  trustOption,
  whole,
  withFlavours,
} from './values.ts';

export function addUp(program: Command, run: RunCommand): void {
  program
    .command('up')
    .description('start a cluster and leave it running')
    .option('-n, --nodes <count>', 'number of svc nodes (default: 5)', whole(0, NODES_MAX))
    .addOption(withFlavours())
    .addOption(dishonestOption())
    .addOption(machineFaultsOption())
    .addOption(beeBinaryOption())
    .addOption(
      new Option('--preset <preset>', `base definition: ${PRESET_NAMES.join(', ')}`).argParser(
        oneOf(PRESET_NAMES),
      ),
    )
    .option('-f, --file <path>', 'cluster file (YAML); overrides the preset, options override it')
    .addOption(trustOption())
    .option(
      '--snapshot <name>',
      'start from a saved snapshot; only --name, --port and --timeout may be given with it',
    )
    .option('--name <cluster>', 'name of the cluster (default: local, or the preset)')
    .option('--seed <number>', 'seed for every random choice (default: random)', seedFlag)
    .addOption(driverOption())
    .addOption(profileOption())
    .addOption(creditOption('depends on profile and nodes'))
    .addOption(dialectOption())
    .addOption(coldGossipOption())
    .addOption(linkFaultsOption())
    .option(
      '--port <port>',
      'first port of a fixed range: ten per node, the chain on the tenth (default: free ports)',
      whole(1024, 65_000),
    )
    .addOption(
      new Option('--cors <origin>', 'origin allowed to call the nodes from a browser, * for all (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--otlp <url>', 'endpoint that all nodes send traces to (OTLP over HTTP)')
    .option(
      '--timeout <duration>',
      'time limit for the whole start (default: grows with the nodes)',
      limitFlag,
    )
    .option('--trace', 'record chunk events on svc nodes, for svcnet trace')
    .option('--no-batches', 'buy no postage batches for the nodes')
    .option('--wide', 'print every value in full')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `\nExamples:\n  svcnet up -n 5\n  svcnet up -f cluster.yaml --seed 42 --json\n  svcnet up -n 4 --with bee=2 --bee-binary ./bee\n  svcnet up -n 5 --port 17000 --cors http://localhost:3000\n  svcnet up -n 3 --otlp http://127.0.0.1:4318\n  svcnet up --preset factory\n  svcnet up --snapshot base --name second\n${MIXED_NOTE}`,
    )
    .action((flags) => run(flags, up));
}

/** Compiles the nodes' code while this process loads its own. */
async function up(flags: UpFlags, context: CommandContext): Promise<void> {
  const folder = compileCacheDir(context.stateDir, 'nodes');
  const failed = new AbortController();
  if (flags.nodes !== 0)
    void compile(svcProgram('compile'), folder, AbortSignal.any([context.signal, failed.signal]));
  try {
    await (await import('../up.ts')).up(flags, context);
  } catch (error) {
    failed.abort();
    throw error;
  }
}
