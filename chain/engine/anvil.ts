/**
 * One Anvil process with 64 blocks of state in memory. It never outlives us: `stop`, our exit, or a guard that notices the
 * closed pipe ends it. It obeys anyone, so it is asked through a socket in our folder, and its own port is bound where
 * nothing can connect.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { LocalChainError } from '../errors.ts';
import { type RpcClient, rpcOver } from '../rpc.ts';
import { type Engine, type EngineOptions, GENESIS_TIMESTAMP_S } from './engine.ts';
import { openIpc } from './ipc.ts';

/** Nodes read state up to 12 blocks back, and reorganisations go a few blocks deep. */
const STATE_HISTORY_BLOCKS = 64;
const START_DEADLINE_MS = 20_000;
/** It needs some 5 ms to end on SIGTERM. */
const STOP_DEADLINE_MS = 2_000;
const SOCKET = 'ipc';
/**
 * For its own port, the first that the system lets it bind. Linux binds a stream to a multicast address, to which no
 * connection can be made. Elsewhere it is a random port of loopback, without CORS: a page would have to find it, and to open
 * a WebSocket.
 */
const PORT_HOSTS = process.platform === 'linux' ? ['224.0.0.1', '127.0.0.1'] : ['127.0.0.1'];
const OUTPUT_KEPT_CHARS = 16_384;

export type AnvilOptions = Omit<EngineOptions, 'clock' | 'work'>;

const require = createRequire(import.meta.url);

export function anvilBinary(platform: string = process.platform, arch: string = process.arch): string {
  const os = platform === 'win32' ? 'win32' : platform;
  const cpu = arch === 'x64' ? 'amd64' : arch;
  const name = `@foundry-rs/anvil-${os}-${cpu}`;
  try {
    const launcher = createRequire(require.resolve('@foundry-rs/anvil/package.json'));
    return launcher.resolve(`${name}/bin/anvil${platform === 'win32' ? '.exe' : ''}`);
  } catch (cause) {
    throw new LocalChainError(
      'ANVIL_MISSING',
      `Anvil's binary for ${platform} ${arch} is not installed (package ${name}): install without omitting optional dependencies, or start the cluster with chain: { engine: in-process }`,
      { cause },
    );
  }
}

/** A dump loads only in the version that made it. */
export function anvilVersion(): string {
  return (require('@foundry-rs/anvil/package.json') as { version: string }).version;
}

/** Waits until it listens. @throws LocalChainError ANVIL_MISSING, ANVIL_START_FAILED; the signal's reason */
export async function startAnvil(options: AnvilOptions): Promise<Engine> {
  const [host = '', ...others] = PORT_HOSTS;
  try {
    return await startAt(host, options);
  } catch (error) {
    const next = others[0];
    if (next === undefined || !(error instanceof LocalChainError) || !ADDRESS_REFUSED.test(error.message)) {
      throw error;
    }
    return startAt(next, options);
  }
}

async function startAt(host: string, options: AnvilOptions): Promise<Engine> {
  const binary = anvilBinary();
  options.signal?.throwIfAborted();
  const folder = await privateFolder();
  const stateFile = options.state === undefined ? undefined : await writeAside(folder, options.state);
  // Its own session: an interrupt typed at the terminal reaches us alone, and we stop things in order.
  const child = spawn(binary, anvilArguments(host, options, { folder, stateFile }), {
    stdio: ['ignore', 'pipe', 'pipe'],
    // The path of a socket must be short.
    cwd: folder,
    detached: true,
  });
  const guard = guardAgainstOurDeath(child, folder);
  const exited = exitOf(child).then(async (how) => {
    guard?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
    return how;
  });
  try {
    await listening(child, exited, options);
    const upstream = openIpc(process.platform === 'win32' ? pipeOf(folder) : join(folder, SOCKET));
    const rpc = rpcOver(upstream);
    // Otherwise it prints a line for every call.
    await rpc.call('anvil_setLoggingEnabled', false);
    return { pid: child.pid ?? 0, upstream, rpc, exited, stop: () => stop(child, exited, rpc) };
  } catch (error) {
    child.kill('SIGKILL');
    await exited;
    throw error;
  }
}

async function privateFolder(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), 'svcnet-chain-'));
  } catch (cause) {
    throw new LocalChainError(
      'ANVIL_START_FAILED',
      `cannot make a folder for Anvil's socket: ${String(cause)}; set TMPDIR to a folder that can be written`,
      { cause },
    );
  }
}

/** Windows has named pipes instead of sockets in folders. */
function pipeOf(folder: string): string {
  return `\\\\.\\pipe\\${basename(folder)}`;
}

async function writeAside(folder: string, state: Uint8Array): Promise<string> {
  const file = join(folder, 'state.json');
  await writeFile(file, state, { mode: 0o600 });
  return file;
}

function anvilArguments(
  host: string,
  { chainId }: AnvilOptions,
  { folder, stateFile }: { folder: string; stateFile: string | undefined },
): string[] {
  // The newest hardfork hashes an ever longer history in each block.
  return Object.entries({
    host,
    port: 0,
    ipc: process.platform === 'win32' ? pipeOf(folder) : SOCKET,
    'chain-id': chainId,
    hardfork: 'cancun',
    order: 'fifo',
    'prune-history': STATE_HISTORY_BLOCKS,
    timestamp: GENESIS_TIMESTAMP_S,
    accounts: 1,
    'cache-path': folder,
    ...(stateFile === undefined ? {} : { 'load-state': stateFile }),
  })
    .flatMap(([name, value]) => [`--${name}`, String(value)])
    .concat('--no-mining', '--no-cors');
}

function exitOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  // Not `exit`: output may still be in the pipes.
  child.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  child.once('error', (error) => resolve(error.message));
  return promise;
}

async function listening(
  child: ChildProcess,
  exited: Promise<string>,
  { signal }: AnvilOptions,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let output = '';
  const read = (part: Buffer): void => {
    output = (output + part.toString('utf8')).slice(-OUTPUT_KEPT_CHARS);
    if (/Listening on \S+:\d+\s/.test(output)) resolve();
  };
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  void exited.then((how) => reject(startError(how, output)));
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => reject(startError('no answer', output)), START_DEADLINE_MS);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    for (const pipe of [child.stdout, child.stderr]) pipe?.off('data', read).resume();
  }
}

const ADDRESS_REFUSED = /assign requested address|not supported|Invalid argument/i;

function startError(how: string, output: string): LocalChainError {
  const reason = /^Error: [^]*$/m.exec(output)?.[0].replaceAll(/\s+/g, ' ') ?? '';
  return new LocalChainError('ANVIL_START_FAILED', `Anvil did not start (${how}) ${reason}`.trim());
}

async function stop(child: ChildProcess, exited: Promise<string>, rpc: RpcClient): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  await exited;
  clearTimeout(timer);
  rpc.close();
}

const children = new Set<ChildProcess>();

function killAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

/**
 * An orderly end runs the exit handler. Being killed runs nothing, but closes the pipe a small shell waits on, which then
 * kills Anvil. Windows has no such shell.
 */
function guardAgainstOurDeath(child: ChildProcess, folder: string): ChildProcess | undefined {
  if (child.pid === undefined) return undefined;
  if (children.size === 0) process.on('exit', killAll);
  children.add(child);
  child.once('exit', () => {
    children.delete(child);
    if (children.size === 0) process.off('exit', killAll);
  });
  const script = 'read -r _; kill -9 "$1"; rm -rf "$2"';
  const guard = spawn('sh', ['-c', script, 'anvil-guard', String(child.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.on('error', () => guard.unref());
  guard.unref();
  return guard;
}
