#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { Command, CommanderError, Help, type Option } from 'commander';
/** `svcnet`: commands and options. Each command is a file in `commands/`, loaded only when it is used. */
import { withShownUrls } from '../formats/shown-url.ts';
import { VERSION } from '../formats/version.ts';
import { EXIT, exitCodeOf, HarnessError, messageOf } from './base/errors.ts';
import { forTerminal } from './base/foreign-text.ts';
import { asTyped } from './base/typed.ts';
import { compileCacheDir } from './cluster/state/compile-cache.ts';
import { defaultStateDir } from './cluster/state/state-folder.ts';
import type { CommandContext } from './commands/context.ts';
import { type FailureDocument, failureDocument, usageDocument } from './commands/failure.ts';
import { addFund, addMine, addStamp } from './commands/options/chain.ts';
import { addCompare } from './commands/options/compare.ts';
import { addConformance } from './commands/options/conformance.ts';
import { addDashboards } from './commands/options/dashboards.ts';
import { addFaults } from './commands/options/fault.ts';
import { addAttach, addExport, addInit, addSchema, addValidate } from './commands/options/files.ts';
import { addLoad } from './commands/options/load.ts';
import { addMetrics } from './commands/options/metrics.ts';
import { addNew } from './commands/options/new.ts';
import { addDetails, addDown, addNodeActions, addStatusCommands } from './commands/options/nodes.ts';
import { addReplay } from './commands/options/replay.ts';
import { addReport } from './commands/options/report.ts';
import { addRun } from './commands/options/run.ts';
import { addSnapshots } from './commands/options/snapshot.ts';
import { addTrace } from './commands/options/trace.ts';
import { addUi } from './commands/options/ui.ts';
import { addUp } from './commands/options/up.ts';
import { clusterCommands } from './commands/options/values.ts';
import { consoleStyle, paint } from './report/console.ts';

/** After an interruption everything is killed, which takes a moment; longer than this is a bug. */
const CLEANUP_LIMIT_MS = 10_000;

const interruption = new AbortController();

type Flags = Record<string, unknown>;

/** Set by commands that return a verdict; the others succeed or throw. */
let exitCode: number = EXIT.success;
/** Decides the exit code whatever the command says: by a signal, or because its output is lost. */
let endedBy: number | undefined;

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
    out: (text) => void process.stdout.write(forTerminal(text)),
    note: (text) => void process.stderr.write(forTerminal(text)),
  };
}

/**
 * Halves the load time of a command. Only where a state directory exists: commands that only read must not create one.
 * @returns undefined also when the folder must not be used: commands that need it say why
 */
function compileCache(): string | undefined {
  try {
    return existsSync(defaultStateDir()) ? compileCacheDir(defaultStateDir(), 'tools') : undefined;
  } catch (error) {
    if (error instanceof HarnessError) return undefined;
    throw error;
  }
}

async function run<F>(
  flags: F,
  command: (flags: F, context: CommandContext) => Promise<number | void>,
): Promise<void> {
  const cache = compileCache();
  if (cache !== undefined) enableCompileCache(cache);
  const code = await command(flags, contextOf(flags as Flags));
  if (typeof code === 'number') exitCode = code;
}

/** Every command with its flags, as the help lists them; `main` runs it, the reference is generated from it. */
export function commandLine(): Command {
  const program = new Command('svcnet')
    .description('A whole decentralised storage network on one machine.')
    .version(VERSION, '-v, --version', 'print the version')
    .showSuggestionAfterError(true)
    .configureOutput({ outputError: (text, write) => write(forTerminal(withShownUrls(text))) })
    .showHelpAfterError('(--help lists all options)')
    .configureHelp({
      // What an option means without its value is part of its description; the parser would add it in its own words.
      optionDescription: (option) =>
        Help.prototype.optionDescription(
          Object.create(option, { presetArg: { value: undefined } }) as Option,
        ),
    })
    .exitOverride();
  const about = clusterCommands(program);

  addUp(program, run);
  addValidate(program, run);
  addAttach(program, run);
  addInit(program, run);
  addNew(program, run);
  addSchema(program, run);
  addExport(program, run);
  addStatusCommands(about, run);
  addUi(about, run);
  addTrace(about, run);
  addDetails(about, run);
  addNodeActions(about, run);
  addFaults(program, about, run);
  addStamp(about, run);
  addMine(about, run);
  addFund(about, run);
  addSnapshots(program, run);
  addRun(program, run);
  addCompare(program, run);
  addConformance(program, run);
  addMetrics(program, run);
  addLoad(program, run);
  addDashboards(program, run);
  addReport(program, run);
  addReplay(program, run);
  addDown(about, run);
  return program;
}

function interrupt(signal: NodeJS.Signals): void {
  endedBy ??= EXIT.interrupted;
  end(`interrupted by ${signal}`);
}

/**
 * A terminal is gone. With `nohup` the command goes on: it has put none of the three streams on a terminal, and Node.js
 * forgets on its start that the signal was to be ignored.
 */
function hungUp(): void {
  if ([process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)) interrupt('SIGHUP');
}

/**
 * Nobody reads any more, as after `head`: the command tidies up and ends, as after Ctrl-C, but one that has done
 * its work has succeeded. It has not if its output could not be written, for example to a full disk.
 */
function outputFailed(name: string, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') {
    end(`nobody reads ${name} any more`);
    return;
  }
  endedBy ??= EXIT.usage;
  // It may have ended: what it has written last fails later.
  process.exitCode = endedBy;
  end(`cannot write to ${name}: ${error.message}`);
}

function end(why: string): void {
  if (interruption.signal.aborted) return;
  interruption.abort(new HarnessError('INTERRUPTED', why));
  setTimeout(() => process.exit(endedBy ?? EXIT.interrupted), CLEANUP_LIMIT_MS).unref();
}

function fail(error: unknown): number {
  // Commander has printed the message: help and version end with code 0, wrong usage with 1.
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.success;
    printFailure(usageDocument(withShownUrls(error.message)));
    return EXIT.usage;
  }
  if (interruption.signal.aborted) {
    // An error that reports what the interruption left behind says more than the signal.
    const told =
      error instanceof HarnessError && error.code === 'INTERRUPTED' ? error : interruption.signal.reason;
    printFailure(failureDocument(told));
    process.stderr.write(`${forTerminal(messageOf(told))}\n`);
    if (told instanceof HarnessError && told.hint !== undefined)
      process.stderr.write(`${forTerminal(asTyped(told.hint))}\n`);
    return endedBy ?? EXIT.interrupted;
  }
  printFailure(failureDocument(error));
  const style = consoleStyle(process.stderr, process.env);
  process.stderr.write(`${paint(style, 'red', 'error')}: ${forTerminal(messageOf(error))}\n`);
  if (error instanceof HarnessError && error.hint !== undefined)
    process.stderr.write(`${forTerminal(asTyped(error.hint))}\n`);
  return exitCodeOf(error);
}

/** With --json an error is a JSON document, too; the text for people is always on standard error. */
function printFailure(document: FailureDocument): void {
  if (process.argv.includes('--json')) process.stdout.write(`${forTerminal(JSON.stringify(document))}\n`);
}

/** Reads the arguments of this process, runs the command and sets the exit code. */
export async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  process.on('SIGHUP', hungUp);
  process.stdout.on('error', (error) => outputFailed('standard output', error));
  process.stderr.on('error', (error) => outputFailed('standard error', error));
  try {
    await commandLine().parseAsync(process.argv);
    process.exitCode = endedBy ?? exitCode;
  } catch (error) {
    process.exitCode = fail(error);
  }
}

if (import.meta.main) await main();
