#!/usr/bin/env node
/** `svcnet`: the process around a command, its signals, output and exit code. `commands/` has the commands. */
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { CommanderError } from 'commander';
import { withShownUrls } from '../formats/shown-url.ts';
import { EXIT, exitCodeOf, HarnessError, messageOf } from './base/errors.ts';
import { forTerminal } from './base/foreign-text.ts';
import { MACHINE_CLOCK } from './base/machine/clock.ts';
import { asTyped } from './base/typed.ts';
import { compileCacheDir } from './cluster/state/compile-cache.ts';
import { defaultStateDir } from './cluster/state/state-folder.ts';
import { commandLine, type RunCommand } from './commands/command-line.ts';
import type { CommandContext } from './commands/context.ts';
import { type FailureDocument, failureDocument, usageDocument } from './commands/failure.ts';
import { consoleStyle, paint } from './report/console.ts';

/** After an interruption everything is killed, which takes a moment; longer than this is a bug. */
const CLEANUP_LIMIT_MS = 10_000;

const interruption = new AbortController();

/** Set by commands that return a verdict; the others succeed or throw. */
let exitCode: number = EXIT.success;
/** Decides the exit code whatever the command says: by a signal, or because its output is lost. */
let endedBy: number | undefined;

function contextOf(flags: object): CommandContext {
  const json = 'json' in flags && flags.json === true;
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

const run: RunCommand = async (flags, command) => {
  const cache = compileCache();
  if (cache !== undefined) enableCompileCache(cache);
  const code = await command(contextOf(flags));
  if (typeof code === 'number') exitCode = code;
};

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
  MACHINE_CLOCK.timer(CLEANUP_LIMIT_MS, () => process.exit(endedBy ?? EXIT.interrupted), true);
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
    await (await commandLine(run, process.argv.slice(2))).parseAsync(process.argv);
    process.exitCode = endedBy ?? exitCode;
  } catch (error) {
    process.exitCode = fail(error);
  }
}

if (import.meta.main) await main();
