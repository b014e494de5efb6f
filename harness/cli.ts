#!/usr/bin/env node
/** The process around a command line: signals, output, end. `commands/` has the commands. */
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { EXIT, HarnessError, messageOf } from './base/errors.ts';
import { MACHINE_CLOCK } from './base/machine/clock.ts';
import { compileCacheDir } from './cluster/state/compile-cache.ts';
import { defaultStateDir } from './cluster/state/state-folder.ts';
import { runLine, tellEarlyEnd } from './commands/line.ts';

/** After an interruption everything is killed, which takes a moment. */
const CLEANUP_LIMIT_MS = 10_000;

const interruption = new AbortController();

/** A signal or lost output decides, whatever the command says. */
let endedBy: number | undefined;

let lostOutput: string | undefined;
let hasEnded = false;

/** Not what user code is given instead. */
const exit = process.exit.bind(process);

/**
 * Code is compiled once for all commands, which halves loading. Only in an existing state directory: commands that only read
 * must not create one.
 */
function stateDir(): string {
  const folder = defaultStateDir();
  if (existsSync(folder)) useCompiled(folder);
  return folder;
}

function useCompiled(folder: string): void {
  try {
    enableCompileCache(compileCacheDir(folder, 'tools'));
  } catch (error) {
    // Commands that need the folder say why it must not be used.
    if (!(error instanceof HarnessError)) throw error;
  }
}

function interrupt(signal: NodeJS.Signals): void {
  endedBy ??= EXIT.interrupted;
  end(`interrupted by ${signal}`);
}

/**
 * A terminal is gone. With `nohup` the command goes on: none of the three streams is on a terminal, and Node.js forgets that
 * the signal was to be ignored.
 */
function hungUp(): void {
  if ([process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)) interrupt('SIGHUP');
}

/**
 * Nobody reads any more, as after `head`: the command ends as after Ctrl-C, but has succeeded if its work is done. Output
 * that cannot be written, for example to a full disk, is a failure.
 */
function outputFailed(name: string, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') {
    end(`nobody reads ${name} any more`);
    return;
  }
  endedBy ??= EXIT.usage;
  if (lostOutput !== undefined) return;
  lostOutput = `cannot write to ${name}: ${messageOf(error)}`;
  end(lostOutput);
  // What it has written last fails later.
  if (hasEnded) sayLost();
}

function sayLost(): void {
  if (lostOutput === undefined) return;
  process.exitCode = endedBy;
  process.stderr.write(`error: ${lostOutput}\n`);
}

function end(why: string): void {
  if (interruption.signal.aborted) return;
  interruption.abort(new HarnessError('INTERRUPTED', why));
  MACHINE_CLOCK.timer(CLEANUP_LIMIT_MS, () => exit(endedBy ?? EXIT.interrupted), true);
}

/** Sets the exit code. */
export async function main(): Promise<void> {
  // A mask that takes the owner's rights would make unusable folders.
  process.umask(process.umask(0o077) & 0o077);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  process.on('SIGHUP', hungUp);
  process.stdout.on('error', (error) => outputFailed('standard output', error));
  process.stderr.on('error', (error) => outputFailed('standard error', error));
  const { stdout, stderr, env } = process;
  const around = { stateDir, stdout, stderr, env, signal: interruption.signal };
  const words = process.argv.slice(2);
  const endedEarly = () => {
    if (!interruption.signal.aborted) process.exitCode = tellEarlyEnd(words, around);
  };
  process.once('exit', endedEarly);
  const code = await runLine(words, around);
  process.off('exit', endedEarly);
  process.exitCode = endedBy ?? code ?? EXIT.interrupted;
  hasEnded = code !== undefined;
  if (hasEnded) sayLost();
}

if (import.meta.main) await main();
