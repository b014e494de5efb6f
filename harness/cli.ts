#!/usr/bin/env node
/** `svcnet`: commands and flags. Each command is a file of `commands/`, loaded when it is asked for. */
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../node/version.ts';
import { EXIT, exitCodeOf, HarnessError, messageOf } from './base/errors.ts';
import type { AttachFlags } from './commands/attach.ts';
import type { CommandContext } from './commands/context.ts';
import { type FailureDocument, failureDocument, usageDocument } from './commands/failure.ts';
import { addCompare } from './commands/line/compare.ts';
import { addDashboards } from './commands/line/dashboards.ts';
import { addLoad } from './commands/line/load.ts';
import { addMetrics } from './commands/line/metrics.ts';
import { addReport } from './commands/line/report.ts';
import { addTrace } from './commands/line/trace.ts';
import { addUi } from './commands/line/ui.ts';
import {
  beeBinaryOption,
  bigFlag,
  coldGossipOption,
  collect,
  creditOption,
  dialectOption,
  driverOption,
  durationFlag,
  intervalFlag,
  machineFlag,
  metricsPortOption,
  NODES_MAX,
  profileOption,
  seedFlag,
  whole,
  withFlavours,
  word,
} from './commands/line/values.ts';
import { NODE_ACTIONS, type NodeAction } from './commands/node-action-names.ts';
import type { UpFlags } from './commands/up.ts';
import { DEFAULT_SEED } from './export/export-request.ts';
import { TARGETS, type Target } from './export/obstacles.ts';
import { svcProgram } from './flavours/svc-program.ts';
import { compile } from './machine/compile.ts';
import { PRESET_NAMES } from './plan/presets/names.ts';
import { consoleStyle, paint } from './report/console.ts';
import { compileCacheDir, defaultStateDir } from './state/state.ts';

/** After an interruption everything is ended by force, which takes a moment; more than this is a defect. */
const CLEANUP_LIMIT_MS = 10_000;
const MIXED_NOTE = `
A real Bee takes part with --with bee=COUNT. Its program is named by --bee-binary or SVCNET_BEE_BINARY. While one does,
blocks come at their pace and never on demand, and every node keeps to the public network's payment-threshold and
refresh-rate, also in the fast profile: a Bee refuses and blocks peers that settle at another rate.
`;
const BATCH_DEPTH = { default: 20, min: 17, max: 40 } as const;
/** Of one command: more keep the chain busy for longer than a call may take. */
const MINED_MAX = 10_000;
const REPEATS_MAX = 10_000;

const interruption = new AbortController();

type Flags = Record<string, unknown>;

/** What a command that finds something out returns; the others succeed or throw. */
let exitCode: number = EXIT.success;

function contextOf(flags: Flags): CommandContext {
  const json = flags['json'] === true;
  const style = consoleStyle(process.stdout, process.env);
  return {
    stateDir: defaultStateDir(),
    json,
    style,
    width: process.stdout.isTTY ? style.width : Number.POSITIVE_INFINITY,
    terminal: process.stdout.isTTY ? process.stdout : undefined,
    signal: interruption.signal,
    out: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
  };
}

async function run<F>(
  flags: F,
  command: (flags: F, context: CommandContext) => Promise<number | void>,
): Promise<void> {
  // Halves the time that a command takes to load. Only where there is state already: looking must leave no trace.
  if (existsSync(defaultStateDir())) enableCompileCache(compileCacheDir(defaultStateDir(), 'tools'));
  const code = await command(flags, contextOf(flags as Flags));
  if (typeof code === 'number') exitCode = code;
}

/** The nodes' code is compiled while this process loads its own. */
async function up(flags: UpFlags, context: CommandContext): Promise<void> {
  const folder = compileCacheDir(context.stateDir, 'nodes');
  const failed = new AbortController();
  if (flags.nodes !== 0)
    void compile(svcProgram('compile'), folder, AbortSignal.any([context.signal, failed.signal]));
  try {
    await (await import('./commands/up.ts')).up(flags, context);
  } catch (error) {
    failed.abort();
    throw error;
  }
}

function commandLine(): Command {
  const program = new Command('svcnet')
    .description('A whole decentralised storage network on one machine.')
    .version(VERSION, '-v, --version', 'print the version')
    .showSuggestionAfterError(true)
    .showHelpAfterError('(--help lists all flags)')
    .exitOverride();

  const about = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .option('--name <cluster>', 'name of the cluster; may be left out when there is only one')
      .option('--json', 'print one JSON document and nothing else');

  program
    .command('up')
    .description('start a cluster and leave it running')
    .option('-n, --nodes <count>', 'number of nodes of our own (default: 5)', whole(0, NODES_MAX))
    .addOption(withFlavours())
    .addOption(beeBinaryOption())
    .addOption(
      new Option('--preset <preset>', `definition to begin with: ${PRESET_NAMES.join(', ')}`).argParser(
        word(PRESET_NAMES),
      ),
    )
    .option('-f, --file <path>', 'cluster file (YAML); wins over the preset, flags win over it')
    .option(
      '--snapshot <name>',
      'go on with a network that was saved; only --name, --port and --timeout can be chosen',
    )
    .option('--name <cluster>', 'name of the cluster (default: local, or the preset)')
    .option('--seed <number>', 'everything that looks random follows from it (default: drawn)', seedFlag)
    .addOption(driverOption())
    .addOption(profileOption())
    .addOption(creditOption('what suits profile and nodes'))
    .addOption(dialectOption())
    .addOption(coldGossipOption())
    .option(
      '--port <port>',
      'first of a fixed range of ports: ten per node, the chain at the tenth (default: free ports)',
      whole(1024, 65_000),
    )
    .addOption(
      new Option('--cors <origin>', 'origin that browsers may call the nodes from, * for all (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--otlp <url>', 'receiver of traces that all nodes send, OTLP over HTTP')
    .option('--timeout <duration>', 'limit of the whole start (default: grows with the nodes)', durationFlag)
    .option('--trace', 'every node of ours keeps the events of its chunks, for svcnet trace')
    .option('--no-batches', 'buy no batch for the nodes')
    .option('--wide', 'print every value in full')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `\nExamples:\n  svcnet up -n 5\n  svcnet up -f cluster.yaml --seed 42 --json\n  svcnet up -n 4 --with bee=2 --bee-binary ./bee\n  svcnet up -n 5 --port 17000 --cors http://localhost:3000\n  svcnet up -n 3 --otlp http://127.0.0.1:4318\n  svcnet up --preset factory\n  svcnet up --snapshot base --name second\n${MIXED_NOTE}`,
    )
    .action((flags) => run(flags, up));

  program
    .command('validate')
    .description('check a cluster file without starting anything')
    .argument('<file>', 'cluster file (YAML)')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      '\nExits with 0 when the file describes a cluster, with 2 after naming every mistake.',
    )
    .action((path: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/validate.ts')).validate(path, f, c)),
    );

  program
    .command('attach')
    .description('make a cluster of a network that runs already; nothing of it is changed')
    .requiredOption('-f, --file <path>', 'network file (YAML): where its nodes and its chain are')
    .option('--name <cluster>', "name of the cluster (default: the file's, or that of the file)")
    .option('--wide', 'print every value in full')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
A network file has at least the endpoints; what it leaves out is asked of the nodes:
  chain: { rpc: http://127.0.0.1:8545 }     # also control, contracts
  nodes:
    - api: http://127.0.0.1:1633            # also debug, name, key
    - api: http://127.0.0.1:1635
ps, status, stamp, env, keys and run work on it as on any other cluster; down forgets it and stops nothing.`,
    )
    .action((flags) =>
      run(flags, async (f, c) => (await import('./commands/attach.ts')).attach(f as AttachFlags, c)),
    );

  program
    .command('init')
    .description('write a cluster file that names and explains every key')
    .argument('[file]', 'where it goes', 'cluster.yaml')
    .option('--force', 'overwrite what is there')
    .option('--json', 'print one JSON document and nothing else')
    .action((path: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/init.ts')).init(path, f, c)),
    );

  program
    .command('schema')
    .description('print the JSON schema of cluster files, for editors')
    .option('--json', 'changes nothing: it is one JSON document anyway')
    .addHelpText(
      'after',
      '\nExample:\n  svcnet schema > cluster.schema.json\n\nAn editor then checks and completes a cluster file that begins with\n  # yaml-language-server: $schema=cluster.schema.json',
    )
    .action((flags) => run(flags, async (f, c) => (await import('./commands/schema.ts')).schema(f, c)));

  program
    .command('export')
    .description('write a cluster as what another engine runs, with the file by which to attach it')
    .argument('<target>', `the engine: ${TARGETS.join(', ')}`, word(TARGETS))
    .option('-f, --file <path>', 'cluster file (YAML); flags win over it')
    .option('-n, --nodes <count>', 'number of nodes (default: 5)', whole(1, NODES_MAX))
    .option('--name <network>', 'name of the network (default: svcnet)')
    .option('--seed <number>', `all keys follow from it (default: ${DEFAULT_SEED})`, seedFlag)
    .addOption(dialectOption())
    .option('--image <reference>', 'image of nodes and chain (default: svcnet, as node/Dockerfile makes it)')
    .addOption(
      new Option(
        '--machine <name=address>',
        'machine of a swarm that takes its share of the nodes (repeatable)',
      )
        .argParser(machineFlag)
        .default([], 'the swarm chooses'),
    )
    .option(
      '-o, --output <folder>',
      'folder that the files go to (default: the first one to standard output)',
    )
    .option('--force', 'replace files that are there')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      '\nExamples:\n  svcnet export compose > docker-compose.yml\n  svcnet export stack -n 50 --output stack --machine worker-1=10.0.0.11 --machine worker-2=10.0.0.12\n  svcnet export kubernetes -f cluster.yaml --output manifests\n\ndocs/many-machines.md says how such a network is started, driven and removed.',
    )
    .action((target: Target, flags) =>
      run(flags, async (f, c) => (await import('./commands/export.ts')).exportDefinition(target, f, c)),
    );

  about('ps', 'list the nodes of a cluster, or the clusters when there is not exactly one')
    .option('--wide', 'print every value in full')
    .action((flags) => run(flags, async (f, c) => (await import('./commands/ps.ts')).ps(f, c)));

  about('status', 'show cluster health, debts and problems')
    .addOption(
      new Option('--watch [interval]', 'look again and again, until interrupted (default interval: 2s)')
        .preset('2s')
        .argParser(intervalFlag),
    )
    .action((flags) => run(flags, async (f, c) => (await import('./commands/status.ts')).status(f, c)));

  addUi(about, run);
  addTrace(about, run);

  about('logs', 'show what a node has written')
    .argument('<node>', 'name of a node, or chain')
    .option('-f, --follow', 'go on with what is added')
    .option('-l, --lines <count>', 'lines to begin with', whole(0, 100_000), 50)
    .action((node: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/logs.ts')).logs(node, f, c)),
    );

  about('env', 'print a cluster as variables of a shell: eval "$(svcnet env)"').action((flags) =>
    run(flags, async (f, c) => (await import('./commands/env.ts')).env(f, c)),
  );

  about('keys', 'print the accounts of the nodes and three spare ones, with their private keys')
    .option('--wide', 'print every column')
    .action((flags) => run(flags, async (f, c) => (await import('./commands/keys.ts')).keys(f, c)));

  for (const [action, description] of Object.entries(NODE_ACTIONS)) {
    about(action, description)
      .argument('<node>', 'name of the node, such as node-0')
      .action((node: string, flags) =>
        run(flags, async (f, c) =>
          (await import('./commands/node-actions.ts')).nodeAction(action as NodeAction, node, f, c),
        ),
      );
  }

  about('stamp', 'buy a batch through a node, or for an account, and wait until it is usable')
    .argument('[node]', 'name of the node (default: the first full or light one)')
    .option(
      '--depth <bits>',
      'logarithm of the number of chunks',
      whole(BATCH_DEPTH.min, BATCH_DEPTH.max),
      BATCH_DEPTH.default,
    )
    .addOption(
      new Option('--ttl <duration>', 'how long it lasts')
        .argParser(durationFlag)
        .default(durationFlag('24h'), '24h'),
    )
    .option('--amount <units>', 'per chunk, instead of --ttl', bigFlag)
    .option('--label <text>', 'name of the batch on its node')
    .option('--owner <account>', 'node or address that it is made for, paid by the testbed')
    .option('--mutable', 'a full bucket overwrites its oldest chunk')
    .option('--no-wait', 'return when it is mined')
    .addHelpText(
      'after',
      '\nWith --owner the batch belongs to an account whose key a client has: it stamps its chunks itself. Usable means\nthen that every running node knows the batch.',
    )
    .action((node: string | undefined, flags) =>
      run(flags, async (f, c) => (await import('./commands/stamp.ts')).stamp(node, f, c)),
    );

  about('mine', 'mine blocks now, whatever the block time is')
    .argument('[blocks]', 'how many', whole(1, MINED_MAX), 1)
    .action((blocks: number, flags) =>
      run(flags, async (f, c) => (await import('./commands/mine.ts')).mine(blocks, f, c)),
    );

  about('fund', 'add coins and tokens to an account')
    .argument('<account>', 'name of a node, or an address')
    .option('--native <coins>', 'native coin', '1')
    .option('--tokens <tokens>', 'tokens', '100')
    .action((who: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/fund.ts')).fund(who, f, c)),
    );

  const snapshot = program
    .command('snapshot')
    .description('keep networks as they are, to start others from them');
  snapshot
    .command('save')
    .description('save chain, data and identities of a cluster; its nodes are stopped for a moment')
    .argument('<snapshot>', 'name of the snapshot')
    .option('--name <cluster>', 'name of the cluster; may be left out when there is only one')
    .option('--force', 'replace a snapshot of that name')
    .option('--json', 'print one JSON document and nothing else')
    .action((name: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/snapshot.ts')).saveSnapshot(name, f, c)),
    );
  snapshot
    .command('ls')
    .description('list the snapshots')
    .option('--json', 'print one JSON document and nothing else')
    .action((flags) =>
      run(flags, async (f, c) => (await import('./commands/snapshot.ts')).listAllSnapshots(f, c)),
    );
  snapshot
    .command('rm')
    .description('remove a snapshot')
    .argument('<snapshot>', 'name of the snapshot')
    .option('--json', 'print one JSON document and nothing else')
    .action((name: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/snapshot.ts')).removeOneSnapshot(name, f, c)),
    );

  program
    .command('run')
    .description('run scenarios on a fresh cluster or a running one; succeeds only if all passed')
    .argument('[scenarios...]', 'names, or paths of files')
    .option('--list', 'list the scenarios with their parameters')
    .option('--name <cluster>', 'run on this running cluster instead of a fresh one')
    .option(
      '-n, --nodes <count>',
      'nodes of our own in the fresh cluster (default: what the scenarios ask for)',
      whole(0, NODES_MAX),
    )
    .addOption(withFlavours())
    .addOption(beeBinaryOption())
    .option('-f, --file <path>', 'cluster file (YAML) of the fresh cluster; flags win over it')
    .addOption(driverOption())
    .addOption(profileOption())
    .addOption(creditOption('what the scenarios ask for'))
    .addOption(dialectOption())
    .addOption(coldGossipOption())
    .option('--seed <number>', 'all choices follow from it (default: drawn)', seedFlag)
    .option(
      '--repeat <count>',
      'number of runs, with this seed and those after it (default: 1)',
      whole(1, REPEATS_MAX),
    )
    .option('--keep', 'leave the last fresh cluster running')
    .addOption(
      new Option('--set <key=value>', 'parameter of the scenarios (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--report <folder>', 'where the report goes (default: .svcnet/runs)')
    .addOption(metricsPortOption())
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText('after', MIXED_NOTE)
    .action((names: string[], flags) =>
      run(flags, async (f, c) => (await import('./commands/run.ts')).run(names, f, c)),
    );

  addCompare(program, run);
  addMetrics(program, run);

  addLoad(program, run);
  addDashboards(program, run);
  addReport(program, run);

  about('down', 'stop a cluster and remove everything it made, nothing else; forget an attached one')
    .option('--all', 'every cluster')
    .action((flags) => run(flags, async (f, c) => (await import('./commands/down.ts')).down(f, c)));

  return program;
}

function interrupt(signal: NodeJS.Signals): void {
  interruption.abort(new HarnessError('INTERRUPTED', `interrupted by ${signal}`));
  setTimeout(() => process.exit(EXIT.interrupted), CLEANUP_LIMIT_MS).unref();
}

function fail(error: unknown): number {
  // Commander has said it already: help and version end with code 0, wrong usage with 1.
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.success;
    printFailure(usageDocument(error.message));
    return EXIT.usage;
  }
  if (interruption.signal.aborted) {
    printFailure(failureDocument(interruption.signal.reason));
    process.stderr.write(`${messageOf(interruption.signal.reason)}\n`);
    return EXIT.interrupted;
  }
  printFailure(failureDocument(error));
  const style = consoleStyle(process.stderr, process.env);
  process.stderr.write(`${paint(style, 'red', 'error')}: ${messageOf(error)}\n`);
  if (error instanceof HarnessError && error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
  return exitCodeOf(error);
}

/** Where --json is wanted, an error is a document as well; the words for people are on standard error in any case. */
function printFailure(document: FailureDocument): void {
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(document)}\n`);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
// Whoever reads our output may stop reading, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.success : EXIT.usage);
});

try {
  await commandLine().parseAsync(process.argv);
  process.exitCode = interruption.signal.aborted ? EXIT.interrupted : exitCode;
} catch (error) {
  process.exitCode = fail(error);
}
