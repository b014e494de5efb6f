/**
 * The chain's process: `node chain/main.ts [OPTIONS.json]`, or options in SVC_CHAIN_OPTIONS. Prints a JSON line once
 * deployed; ends on SIGTERM, SIGINT and, if asked, at the end of standard input. Exit codes: 0 stopped as asked, 1 could not
 * start or the engine ended by itself, 2 wrong options, or not those of the state on disk.
 */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemClock } from '../formats/clock.ts';
import { whenRemoved } from '../node/env/folder.ts';
import { readyLine, startControl } from './control.ts';
import { LocalChainError } from './errors.ts';
import { startLocalChain } from './local-chain.ts';
import { type ProcessOptions, parseOptions } from './options.ts';

const USAGE = 'usage: node chain/main.ts OPTIONS.json (or the document itself in SVC_CHAIN_OPTIONS)';

function readOptions(path: string | undefined, environment: string | undefined): ProcessOptions {
  if (path === undefined && environment === undefined) throw new LocalChainError('OPTIONS_INVALID', USAGE);
  try {
    return parseOptions(path === undefined ? (environment ?? '') : readFileSync(path, 'utf8'));
  } catch (cause) {
    if (cause instanceof LocalChainError) throw cause;
    throw new LocalChainError('OPTIONS_INVALID', `cannot read ${path}: ${String(cause)}`, { cause });
  }
}

function stopRequests(stopOnStdinEnd: boolean): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new LocalChainError('STOPPED', 'stopped before it was ready'));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  if (stopOnStdinEnd) process.stdin.once('close', stop).resume();
  return controller.signal;
}

async function run(
  { chain: options, controlHost: host, controlPort, stopOnStdinEnd, steady, gate }: ProcessOptions,
  folder: string | undefined,
): Promise<number> {
  const stop = stopRequests(stopOnStdinEnd);
  if (folder !== undefined) whenRemoved(folder, systemClock(), () => process.exit(1));
  await using chain = await startLocalChain({ ...options, log, signal: stop });
  const control = await startControl({ chain, gate, steady }, { host, port: controlPort });
  process.stdout.write(`${readyLine({ chain, gate }, control)}\n`);

  const exitCode = await Promise.race([chain.exited.then(() => 1), aborted(stop).then(() => 0)]);
  await control.close();
  return exitCode;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  // A log on a full disk must not end the chain of all nodes.
  process.stderr.on('error', () => undefined);
  try {
    const path = process.argv[2];
    const options = readOptions(path, process.env['SVC_CHAIN_OPTIONS']);
    return await run(options, path === undefined ? undefined : dirname(path));
  } catch (error) {
    const code = error instanceof LocalChainError ? error.code : undefined;
    if (code === 'STOPPED') return 0;
    log(error instanceof Error ? error.message : String(error));
    return code === 'OPTIONS_INVALID' || code === 'STATE_REFUSED' ? 2 : 1;
  }
}

// Standard input may still be open, and would keep this process alive.
process.exit(await main());
