/** The command line as a person runs it: `svcnet` in a process of its own, or as quickly as it goes in this one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runLine } from '../../harness/commands/line.ts';

export const CLI = fileURLToPath(new URL('../../harness/cli.ts', import.meta.url));

export interface Finished {
  /** Null when a signal has ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  /** What it has written so far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly finished: Promise<Finished>;
}

/** @param env besides the environment of the tests */
export function startSvcnet(
  args: readonly string[],
  { stateDir, env = {} }: { readonly stateDir: string; readonly env?: Readonly<Record<string, string>> },
): Started {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, SVCNET_STATE: stateDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (piece) => (output.stdout += String(piece)));
  child.stderr.on('data', (piece) => (output.stderr += String(piece)));
  const { promise, resolve, reject } = Promise.withResolvers<Finished>();
  child.once('error', reject).once('close', (code) => resolve({ code, ...output }));
  return { child, output, finished: promise };
}

/** Here, without the time that a process takes to start: where the command matters and its process does not. */
export async function svcnetHere(
  args: readonly string[],
  { stateDir }: { readonly stateDir: string },
): Promise<Finished> {
  const output = { stdout: '', stderr: '' };
  const code = await runLine(args, {
    stateDir: () => stateDir,
    stdout: { write: (text) => (output.stdout += text) },
    stderr: { write: (text) => (output.stderr += text) },
    env: process.env,
    signal: new AbortController().signal,
  });
  return { code: code ?? null, ...output };
}
