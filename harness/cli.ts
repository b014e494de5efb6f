#!/usr/bin/env node
/** `svcnet`: commands and options. Each command is a file in `commands/`, loaded only when it is used. */
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../node/version.ts';
import { EXIT, exitCodeOf, HarnessError, messageOf } from './base/errors.ts';
import { asTyped } from './base/typed.ts';
import type { AttachFlags } from './commands/attach.ts';
import type { CommandContext } from './commands/context.ts';
import { type FailureDocument, failureDocument, usageDocument } from './commands/failure.ts';
import { addCompare } from './commands/line/compare.ts';
import { addConformance } from './commands/line/conformance.ts';
import { addDashboards } from './commands/line/dashboards.ts';
import { addFaults } from './commands/line/fault.ts';
import { addLoad } from './commands/line/load.ts';
import { addMetrics } from './commands/line/metrics.ts';
import { addNew } from './commands/line/new.ts';
import { addReplay } from './commands/line/replay.ts';
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
  dishonestOption,
  driverOption,
  durationFlag,
  intervalFlag,
  linkFaultsOption,
  machineFaultsOption,
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

/** After an interruption everything is killed, which takes a moment; longer than this is a bug. */
const CLEANUP_LIMIT_MS = 10_000;
const MIXED_NOTE = `
Add real Bees with --with bee=COUNT; --bee-binary or SVCNET_BEE_BINARY names the executable. In a cluster with a Bee,
blocks are mined at the block time and never on demand, and every node uses the public network's payment-threshold and
refresh-rate, even in the fast profile: a Bee blocklists peers that settle at another rate.
`;
const BATCH_DEPTH = { default: 20, min: 17, max: 40 } as const;
/** Blocks per command: mining more takes longer than an RPC call may. */
const MINED_MAX = 10_000;
const REPEATS_MAX = 10_000;
const PARALLEL_MAX = 16;

const interruption = new AbortController();

type Flags = Record<string, unknown>;

/** Set by commands that return a verdict; the others succeed or throw. */
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
  // Halves the load time of a command. Only where a state directory exists: commands that only read must not create one.
  if (existsSync(defaultStateDir())) enableCompileCache(compileCacheDir(defaultStateDir(), 'tools'));
  const code = await command(flags, contextOf(flags as Flags));
  if (typeof code === 'number') exitCode = code;
}

/** Compiles the nodes' code while this process loads its own. */
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

/** Every command with its flags; `main` runs it, the reference is generated from it. */
export function commandLine(): Command {
  const program = new Command('svcnet')
    .description('A whole decentralised storage network on one machine.')
    .version(VERSION, '-v, --version', 'print the version')
    .showSuggestionAfterError(true)
    .showHelpAfterError('(--help lists all options)')
    .exitOverride();

  const about = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .option('--name <cluster>', 'name of the cluster (default: the only one)')
      .option('--json', 'print one JSON document and nothing else');

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
        word(PRESET_NAMES),
      ),
    )
    .option('-f, --file <path>', 'cluster file (YAML); overrides the preset, options override it')
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
      durationFlag,
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

  program
    .command('validate')
    .description('check a cluster file without starting anything')
    .argument('<file>', 'cluster file (YAML)')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText('after', '\nExits with 0 when the file is valid, with 2 after listing every error.')
    .action((path: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/validate.ts')).validate(path, f, c)),
    );

  program
    .command('attach')
    .description('use a running network as a cluster, without changing it')
    .requiredOption('-f, --file <path>', 'network file (YAML): endpoints of the nodes and the chain')
    .option('--name <cluster>', 'name of the cluster (default: the name in the file, or the file name)')
    .option('--wide', 'print every value in full')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      `
A network file lists at least the endpoints; the nodes are asked for the rest:
  chain: { rpc: http://127.0.0.1:8545 }     # also control, contracts
  nodes:
    - api: http://127.0.0.1:1633            # also debug, name, key
    - api: http://127.0.0.1:1635
ps, status, stamp, env, keys and run work as on any other cluster; down forgets it and stops nothing.`,
    )
    .action((flags) =>
      run(flags, async (f, c) => (await import('./commands/attach.ts')).attach(f as AttachFlags, c)),
    );

  program
    .command('init')
    .description('write a cluster file with every key explained')
    .argument('[file]', 'path of the new file', 'cluster.yaml')
    .option('--force', 'overwrite an existing file')
    .option('--json', 'print one JSON document and nothing else')
    .action((path: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/init.ts')).init(path, f, c)),
    );

  addNew(program, run);

  program
    .command('schema')
    .description('print the JSON schema of cluster files, for editors')
    .option('--json', 'no effect: the schema is already one JSON document')
    .addHelpText(
      'after',
      '\nExample:\n  svcnet schema > cluster.schema.json\n\nEditors then validate and complete cluster files that begin with\n  # yaml-language-server: $schema=cluster.schema.json',
    )
    .action((flags) => run(flags, async (f, c) => (await import('./commands/schema.ts')).schema(f, c)));

  program
    .command('export')
    .description('write a cluster as deployment files for another engine, with a network file for attach')
    .argument('<target>', `engine: ${TARGETS.join(', ')}`, word(TARGETS))
    .option('-f, --file <path>', 'cluster file (YAML); options override it')
    .option('-n, --nodes <count>', 'number of nodes (default: 5)', whole(1, NODES_MAX))
    .option('--name <network>', 'name of the network (default: svcnet)')
    .option('--seed <number>', `seed for all keys (default: ${DEFAULT_SEED})`, seedFlag)
    .addOption(dialectOption())
    .option('--image <reference>', 'image of nodes and chain (default: svcnet, built from node/Dockerfile)')
    .addOption(
      new Option(
        '--machine <name=address>',
        'machine of the Docker swarm to place a share of the nodes on (repeatable)',
      )
        .argParser(machineFlag)
        .default([], 'the swarm decides'),
    )
    .option('-o, --output <folder>', 'folder for the files (default: the first file to standard output)')
    .option('--force', 'overwrite existing files')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText(
      'after',
      '\nExamples:\n  svcnet export compose > docker-compose.yml\n  svcnet export stack -n 50 --output stack --machine worker-1=10.0.0.11 --machine worker-2=10.0.0.12\n  svcnet export kubernetes -f cluster.yaml --output manifests\n\ndocs/many-machines.md explains how to start, use and remove such a network.',
    )
    .action((target: Target, flags) =>
      run(flags, async (f, c) => (await import('./commands/export.ts')).exportDefinition(target, f, c)),
    );

  about('ps', 'list the nodes of a cluster, or all clusters unless there is exactly one')
    .option('--wide', 'print every value in full')
    .action((flags) => run(flags, async (f, c) => (await import('./commands/ps.ts')).ps(f, c)));

  about('status', 'show cluster health, debts and problems')
    .addOption(
      new Option('--watch [interval]', 'refresh until interrupted (default interval: 2s)')
        .preset('2s')
        .argParser(intervalFlag),
    )
    .action((flags) => run(flags, async (f, c) => (await import('./commands/status.ts')).status(f, c)));

  addUi(about, run);
  addTrace(about, run);

  about('logs', 'show the log of a node or the chain')
    .argument('<node>', "name of a node, or 'chain'")
    .option('-f, --follow', 'follow the log')
    .option('-l, --lines <count>', 'number of latest lines to show first', whole(0, 100_000), 50)
    .action((node: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/logs.ts')).logs(node, f, c)),
    );

  about('env', 'print a cluster as shell variables, for eval "$(svcnet env)"').action((flags) =>
    run(flags, async (f, c) => (await import('./commands/env.ts')).env(f, c)),
  );

  about('keys', 'print the accounts of the nodes and three spare accounts, with private keys')
    .option('--wide', 'print every column')
    .action((flags) => run(flags, async (f, c) => (await import('./commands/keys.ts')).keys(f, c)));

  for (const [action, description] of Object.entries(NODE_ACTIONS)) {
    about(action, description)
      .argument('<node>', 'name of the node, for example node-0')
      .action((node: string, flags) =>
        run(flags, async (f, c) =>
          (await import('./commands/node-actions.ts')).nodeAction(action as NodeAction, node, f, c),
        ),
      );
  }

  addFaults(program, about, run);

  about('stamp', 'buy a postage batch through a node, or for an account, and wait until it is usable')
    .argument('[node]', 'name of the node (default: the first full or light node)')
    .option(
      '--depth <bits>',
      'batch depth: the batch stamps 2^depth chunks',
      whole(BATCH_DEPTH.min, BATCH_DEPTH.max),
      BATCH_DEPTH.default,
    )
    .addOption(
      new Option('--ttl <duration>', 'time to live')
        .argParser(durationFlag)
        .default(durationFlag('24h'), '24h'),
    )
    .option('--amount <units>', 'base units per chunk, instead of --ttl', bigFlag)
    .option('--label <text>', 'label of the batch on its node')
    .option('--owner <account>', 'node or address that will own the batch; the testbed pays')
    .option('--mutable', 'let a full bucket overwrite its oldest stamp')
    .option('--no-wait', 'return when the purchase is mined')
    .addHelpText(
      'after',
      '\nUse --owner when a client stamps its chunks itself, with the key of that account. The batch is then usable\nwhen every running node knows it.',
    )
    .action((node: string | undefined, flags) =>
      run(flags, async (f, c) => (await import('./commands/stamp.ts')).stamp(node, f, c)),
    );

  about('mine', 'mine blocks now, regardless of the block time')
    .argument('[blocks]', 'number of blocks', whole(1, MINED_MAX), 1)
    .action((blocks: number, flags) =>
      run(flags, async (f, c) => (await import('./commands/mine.ts')).mine(blocks, f, c)),
    );

  about('fund', 'add coins and tokens to an account')
    .argument('<account>', 'name of a node, or an address')
    .option('--native <coins>', 'native coins to add', '1')
    .option('--tokens <tokens>', 'tokens to add', '100')
    .action((who: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/fund.ts')).fund(who, f, c)),
    );

  const snapshot = program.command('snapshot').description('save clusters, and start others from them');
  snapshot
    .command('save')
    .description('save chain, data and identities of a cluster; its nodes stop for a moment')
    .argument('<snapshot>', 'name of the snapshot')
    .option('--name <cluster>', 'name of the cluster (default: the only one)')
    .option('--force', 'replace an existing snapshot of that name')
    .option('--json', 'print one JSON document and nothing else')
    .action((name: string, flags) =>
      run(flags, async (f, c) => (await import('./commands/snapshot.ts')).saveSnapshot(name, f, c)),
    );
  snapshot
    .command('ls')
    .description('list snapshots')
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
      run(flags, async (f, c) => (await import('./commands/run.ts')).run(names, f, c)),
    );

  addCompare(program, run);
  addConformance(program, run);
  addMetrics(program, run);

  addLoad(program, run);
  addDashboards(program, run);
  addReport(program, run);
  addReplay(program, run);

  about('down', 'stop a cluster and remove everything it created; forget an attached network')
    .option('--all', 'remove every cluster')
    .action((flags) => run(flags, async (f, c) => (await import('./commands/down.ts')).down(f, c)));

  return program;
}

function interrupt(signal: NodeJS.Signals): void {
  interruption.abort(new HarnessError('INTERRUPTED', `interrupted by ${signal}`));
  setTimeout(() => process.exit(EXIT.interrupted), CLEANUP_LIMIT_MS).unref();
}

function fail(error: unknown): number {
  // Commander has printed the message: help and version end with code 0, wrong usage with 1.
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.success;
    printFailure(usageDocument(error.message));
    return EXIT.usage;
  }
  if (interruption.signal.aborted) {
    // An error that reports what the interruption left behind says more than the signal.
    const told =
      error instanceof HarnessError && error.code === 'INTERRUPTED' ? error : interruption.signal.reason;
    printFailure(failureDocument(told));
    process.stderr.write(`${messageOf(told)}\n`);
    if (told instanceof HarnessError && told.hint !== undefined)
      process.stderr.write(`${asTyped(told.hint)}\n`);
    return EXIT.interrupted;
  }
  printFailure(failureDocument(error));
  const style = consoleStyle(process.stderr, process.env);
  process.stderr.write(`${paint(style, 'red', 'error')}: ${messageOf(error)}\n`);
  if (error instanceof HarnessError && error.hint !== undefined)
    process.stderr.write(`${asTyped(error.hint)}\n`);
  return exitCodeOf(error);
}

/** With --json an error is a JSON document, too; the text for people is always on standard error. */
function printFailure(document: FailureDocument): void {
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(document)}\n`);
}

/** Reads the arguments of this process, runs the command and sets the exit code. */
export async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  // The reader of our output may stop reading, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.success : EXIT.usage);
  });
  try {
    await commandLine().parseAsync(process.argv);
    process.exitCode = interruption.signal.aborted ? EXIT.interrupted : exitCode;
  } catch (error) {
    process.exitCode = fail(error);
  }
}

if (import.meta.main) await main();
