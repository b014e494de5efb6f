/** Command line → options → start. Exit codes: 0 stopped or done, 1 could not start or broke down, 2 bad usage. */
import {
  createReadStream,
  createWriteStream,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../formats/clock.ts';
import { VERSION } from '../formats/version.ts';
import { whenRemoved } from './env/folder.ts';
import { keepHeapSmall, processHeap } from './env/heap.ts';
import { parseOptionFile } from './option-file.ts';
import { resolveOptions, resolveSome } from './option-sources.ts';
import { describeOptions, type NodeOptions, OPTIONS, OptionError, type OptionName } from './options.ts';

/** Ctrl-C twice, or a hanging stop: the process ends. */
const STOP_LIMIT_MS = 10_000;

async function main(argv: readonly string[]): Promise<void> {
  const [command, ...rest] = argv;
  if (command === undefined || command === 'help' || argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(await usage());
    return;
  }
  if (command === 'version' || command === '--version') {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  if (command === 'compile') {
    // Loaded here, for the runtime's compile cache.
    await import('./compose.ts');
    await import('./platform/machine.ts');
    return;
  }
  if (command === 'forget-peers') {
    await forgetPeers(rest);
    return;
  }
  if (command === 'db') {
    process.exitCode = (await db(rest)) ? 0 : 1;
    return;
  }
  if (command !== 'start') {
    throw new OptionError(
      `unknown command '${command}', expected start, db, forget-peers, compile, version or help`,
    );
  }
  await run(options(rest));
}

/** A copied node would look for its peers at the original's addresses. */
async function forgetPeers(dataDirs: readonly string[]): Promise<void> {
  if (dataDirs.length === 0)
    throw new OptionError('forget-peers: expected the data directories of stopped nodes');
  const { forgetState } = await import('./db/forget.ts');
  const { ADDRESS_BOOK } = await import('./p2p/address/address-book.ts');
  for (const dataDir of dataDirs) {
    const store = join(dataDir, 'store');
    // Never started, or its store is in memory.
    if (!existsSync(store)) continue;
    // Its process may be in another container.
    if (existsSync(join(store, 'lock')))
      process.stdout.write(`${dataDir} skipped: its node is running, or was killed\n`);
    else await forgetState(store, ADDRESS_BOOK);
  }
}

/** @returns whether the store is well */
async function db(argv: readonly string[]): Promise<boolean> {
  const { dbRequest, runDb } = await import('./db/command.ts');
  const request = dbRequest(argv);
  const given = resolveSome(DB_OPTIONS, request.rest, { environment: process.env, readConfig });
  const isTerminal = process.stderr.isTTY;
  // Standard output may carry the archive.
  const lines = request.file === '-' ? process.stderr : process.stdout;
  return runDb(request, {
    path: join(given['data-dir'], 'store'),
    newOwner: () => newOwner(given),
    read: (file) => (file === '-' ? process.stdin : createReadStream(file, { fd: openSync(file, 'r') })),
    write: writeArchive,
    progress: (text) => void (isTerminal && process.stderr.write(`\r${text}\u001b[K`)),
    print: (line) => {
      if (isTerminal) process.stderr.write('\r\u001b[K');
      lines.write(`${line}\n`);
    },
  });
}

const DB_OPTIONS = ['config', 'data-dir', 'password', 'password-file', 'network-id'] as const;

/** A complete archive or none. */
async function writeArchive(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  if (file === '-') {
    await pipeline(content, process.stdout, { end: false });
    return;
  }
  const unfinished = `${file}.part`;
  try {
    await pipeline(content, createWriteStream(unfinished, { mode: 0o600 }));
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

async function newOwner(
  given: Pick<NodeOptions, 'data-dir' | 'password' | 'password-file' | 'network-id'>,
): Promise<Uint8Array> {
  const { machinePlatform } = await import('./platform/machine.ts');
  const { overlayOf } = await import('./compose/foundation.ts');
  const { createSigner } = await import('../formats/crypto/signer.ts');
  const { keys, random } = machinePlatform({ dataDir: given['data-dir'], password: password(given) });
  const { swarm } = await keys({ random });
  return overlayOf(createSigner(swarm), BigInt(given['network-id']));
}

function readConfig(path: string): unknown {
  try {
    return parseOptionFile(readFileSync(path, 'utf8'));
  } catch (error) {
    // Later lines quote the text, which may be a secret.
    const [what = ''] = (error as Error).message.trim().split('\n', 1);
    throw new OptionError(`configuration file ${path}: ${what.replace(/:$/, '')}`);
  }
}

function options(argv: readonly string[]): NodeOptions {
  const resolved = resolveOptions(argv, process.env, readConfig);
  return {
    ...resolved,
    password: password(resolved),
    'api-token': token(resolved, 'api-token'),
    'api-read-token': token(resolved, 'api-read-token'),
    'debug-api-token': token(resolved, 'debug-api-token'),
  };
}

function password(given: Pick<NodeOptions, 'password' | 'password-file'>): string {
  if (given.password !== '') return given.password;
  if (given['password-file'] === '')
    throw new OptionError('--password or --password-file is required to decrypt the key files');
  return secretIn(given, 'password-file');
}

function token(given: NodeOptions, name: 'api-token' | 'api-read-token' | 'debug-api-token'): string {
  const file = `${name}-file` as const;
  if (given[name] !== '' || given[file] === '') return given[name];
  const found = OPTIONS[name].parse(secretIn(given, file));
  if (found !== undefined && found !== '') return found;
  throw new OptionError(
    `--${file}: ${given[file]} does not contain a token, expected ${OPTIONS[name].expected}`,
  );
}

function secretIn<N extends Extract<OptionName, `${string}-file`>>(
  given: Pick<NodeOptions, N>,
  name: N,
): string {
  try {
    return readFileSync(given[name], 'utf8').replace(/^[\r\n]+|[\r\n]+$/g, '');
  } catch (error) {
    throw new OptionError(`--${name}: ${(error as Error).message}`);
  }
}

async function run(resolved: NodeOptions): Promise<void> {
  const stopping = new AbortController();
  const stop = (why: string) => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort(new Error(why));
    systemClock().timer(STOP_LIMIT_MS, () => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(`stopped by ${signal}`));
  if (process.env['SVC_STOP_WITH_PARENT'] === '1') {
    // Standard input ends with the parent, however it died.
    process.stdin.on('end', () => stop('parent is gone')).on('error', () => stop('parent is gone'));
    process.stdin.resume();
  }
  const { startNode } = await import('./compose.ts');
  const { machinePlatform } = await import('./platform/machine.ts');
  const platform = machinePlatform({ dataDir: resolved['data-dir'], password: resolved.password });
  const node = await startNode(resolved, platform, stopping.signal).catch((error: unknown) => {
    // Asked to stop before it was up.
    if (error === stopping.signal.reason) return undefined;
    throw error;
  });
  if (node === undefined) return;
  whenRemoved(resolved['data-dir'], systemClock(), dataIsGone);
  using _trimming = keepHeapSmall({ clock: systemClock(), ...processHeap() });
  const failure = await node.stopped(stopping.signal);
  await node.stop();
  if (failure !== undefined) throw failure;
}

/** At once: a stop would write files, and make the folder again. */
function dataIsGone(): void {
  process.stderr.write('svc: the data directory has been removed\n');
  process.exit(1);
}

async function usage(): Promise<string> {
  const { dbUsage } = await import('./db/command.ts');
  // A package has it elsewhere than a clone.
  const program = `node ${relative('', process.argv[1] ?? 'node/main.ts')}`;
  const rows = describeOptions();
  const width = Math.max(...rows.map((row) => row.name.length)) + 4;
  const lines = rows.map(({ name, help, unit, default: fallback }) => {
    const about = [
      unit === '' ? '' : `in ${unit}`,
      fallback === 'required' ? 'required' : `default ${fallback}`,
    ];
    return `  ${`--${name}`.padEnd(width)}${help} (${about.filter((part) => part !== '').join(', ')})`;
  });
  return [
    'A storage node.',
    '',
    `usage: ${program} start [--name value ...]`,
    `       ${program} forget-peers DATA-DIR...   remove the peer addresses stored by stopped nodes`,
    ...dbUsage().map((line) => `       ${program} ${line}`),
    `       ${program} compile   fill the compile cache in NODE_COMPILE_CACHE and exit`,
    `       ${program} version`,
    '',
    'The db commands need a stopped node and --data-dir. An import into a folder without a store creates one, and then also',
    'needs --password or --password-file, and --network-id. An import does not query the chain: once the node runs, it evicts',
    'chunks whose batch is unknown or expired, and chunks that exceed the capacity of the cache.',
    '',
    'Every option is also an environment variable (SVC_DATA_DIR for --data-dir) and a key of the --config file.',
    '',
    ...lines,
    '',
  ].join('\n');
}

main(process.argv.slice(2)).then(
  () => process.exit(process.exitCode ?? 0),
  (error: unknown) => {
    if (error instanceof OptionError) {
      process.stderr.write(`svc: ${error.message}\n`);
      process.exit(2);
    }
    process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
