#!/usr/bin/env node
/** `svcnet`: the process around a command line, its signals, its output and how it ends. `commands/` has the commands. */
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { EXIT, HarnessError } from './base/errors.ts';
import { MACHINE_CLOCK } from './base/machine/clock.ts';
import { compileCacheDir } from './cluster/state/compile-cache.ts';
import { defaultStateDir } from './cluster/state/state-folder.ts';
import { runLine } from './commands/line.ts';

/** After an interruption everything is killed, which takes a moment; longer than this is a bug. */
const CLEANUP_LIMIT_MS = 10_000;

const interruption = new AbortController();

/** Decides the exit code whatever the command says: by a signal, or because its output is lost. */
let endedBy: number | undefined;

/** Why output is lost. A command that is interrupted by it says so itself. */
let lostOutput: string | undefined;
let hasEnded = false;

/**
 * Where all state is; what a command loads is compiled once for all, which halves the time. Only where a state directory
 * exists: commands that only read must not create one.
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
    // A folder that must not be used: commands that need it say why.
    if (!(error instanceof HarnessError)) throw error;
  }
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
  if (lostOutput !== undefined) return;
  lostOutput = `cannot write to ${name}: ${error.message}`;
  end(lostOutput);
  // What it has written last fails later.
  if (hasEnded) sayLost();
}

/** For a command that has ended as if all were well. */
function sayLost(): void {
  if (lostOutput === undefined) return;
  process.exitCode = endedBy;
  process.stderr.write(`error: ${lostOutput}\n`);
}

function end(why: string): void {
  if (interruption.signal.aborted) return;
  interruption.abort(new HarnessError('INTERRUPTED', why));
  MACHINE_CLOCK.timer(CLEANUP_LIMIT_MS, () => process.exit(endedBy ?? EXIT.interrupted), true);
}

/** Reads the arguments of this process, runs the command and sets the exit code. */
export async function main(): Promise<void> {
  // With a mask that takes the owner's rights, folders would be made that nothing can be put into.
  process.umask(process.umask(0o077) & 0o077);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  process.on('SIGHUP', hungUp);
  process.stdout.on('error', (error) => outputFailed('standard output', error));
  process.stderr.on('error', (error) => outputFailed('standard error', error));
  const { stdout, stderr, env } = process;
  const around = { stateDir, stdout, stderr, env, signal: interruption.signal };
  const code = await runLine(process.argv.slice(2), around);
  process.exitCode = endedBy ?? code ?? EXIT.interrupted;
  hasEnded = code !== undefined;
  if (hasEnded) sayLost();
}

if (import.meta.main) await main();
