import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runLine } from '../../harness/commands/line.ts';

export const CLI = fileURLToPath(new URL('../../harness/cli.ts', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
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

/** In this process, without the time that another one takes to start. */
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
