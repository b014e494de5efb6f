import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { eventually, http, stateFolder } from './kit.ts';

const MAIN = join(import.meta.dirname, '../../../node/main.ts');
const folder = stateFolder();
let net: Cluster;
let taken: Server;
let takenAddress: string;

beforeAll(async () => {
  net = await Cluster.start({ nodes: 1, seed: 3, stateDir: join(folder, 'state') });
  taken = createServer();
  taken.listen(0, '127.0.0.1');
  await once(taken, 'listening');
  takenAddress = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
});
afterAll(async () => {
  taken.close();
  await net.stop();
});

type Options = Readonly<Record<string, string | undefined>>;
let folders = 0;

function goodOptions(): Options {
  const dataDir = join(folder, `data-${++folders}`);
  mkdirSync(dataDir);
  cpSync(join(net.node(0).dataDir, 'keys'), join(dataDir, 'keys'), { recursive: true });
  const { contracts, rpc, startBlock } = net.chain;
  return {
    'data-dir': dataDir,
    password: 'svcnet',
    'api-addr': '127.0.0.1:0',
    'p2p-addr': '127.0.0.1:0',
    'swap-endpoint': rpc,
    'token-address': contracts.token,
    'postage-stamp-address': contracts.postageStamp,
    'postage-stamp-start-block': String(startBlock),
    'block-time': '1',
    'chain-tail-blocks': '0',
    'chain-batch-factor': '1',
    'chain-poll-interval': '100ms',
  };
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(
  options: Options,
  more: readonly string[] = [],
): { child: ChildProcess; ended: Promise<Ended> } {
  const flags = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const child = spawn(process.execPath, [MAIN, 'start', ...flags, ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (piece) => (stdout += String(piece)));
  child.stderr.on('data', (piece) => (stderr += String(piece)));
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, stdout, stderr }));
  return { child, ended };
}

function expectOneLine(stderr: string): void {
  expect(stderr).toMatch(/^svc: .+\n$/);
  expect(stderr).not.toMatch(/^\s+at /m);
}

async function refused(
  options: Options,
  more: readonly string[] = [],
): Promise<{ code: number | null; words: string }> {
  const { code, stderr } = await start(options, more).ended;
  expectOneLine(stderr);
  return { code, words: stderr.replace(/^svc: /, '').trimEnd() };
}

describe.concurrent('bad usage ends with code 2', () => {
  test.each<[string, Options, readonly string[], string]>([
    ['an unknown option', {}, ['--dta-dir', 'x'], 'unknown option --dta-dir, did you mean data-dir?'],
    [
      'a word that is not allowed',
      { verbosity: 'loud' },
      [],
      "--verbosity: got 'loud', expected one of silent, ",
    ],
    ['no chain', { 'swap-endpoint': undefined }, [], '--swap-endpoint is required: '],
    ['no password', { password: undefined }, [], '--password or --password-file is required'],
    [
      'a bootnode that is no address',
      { bootnode: 'boot' },
      [],
      "--bootnode: got 'boot', expected a multiaddress",
    ],
  ])('%s', async (_what, options, more, words) => {
    const seen = await refused({ ...goodOptions(), ...options }, more);
    expect(seen).toEqual({ code: 2, words: expect.stringContaining(words) as string });
  });

  test.each([
    ['broken YAML', 'a: [1,\n b: {', 'configuration file '],
    ['YAML that is no map', '- 1\n', 'expected a map of option names to values'],
    ['an unknown key', 'pasword: x\n', 'pasword, did you mean password?'],
    ['a value that is not allowed', 'block-time: soon\n', "block-time: got 'soon', expected a number"],
  ])('%s in the configuration file', async (_what, text, words) => {
    const file = join(folder, `config-${++folders}.yaml`);
    writeFileSync(file, text);
    const { code, stderr } = await start({ config: file }).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/^svc: /);
    expect(stderr).toContain(file);
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('reports a missing configuration file', async () => {
    const seen = await refused({ config: join(folder, 'none.yaml') });
    expect(seen).toEqual({ code: 2, words: expect.stringContaining('ENOENT') as string });
  });

  test('reports an unknown command', async () => {
    const child = spawn(process.execPath, [MAIN, 'strat'], { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (piece) => (stderr += String(piece)));
    const [code] = (await once(child, 'close')) as [number];
    expect([code, stderr]).toEqual([
      2,
      "svc: unknown command 'strat', expected start, db, forget-peers, compile, version or help\n",
    ]);
  });
});

describe.concurrent('a missing or unusable requirement ends it with code 1', () => {
  test.each(['api-addr', 'p2p-addr', 'debug-api-addr'])('a port in use (%s)', async (option) => {
    const options = { ...goodOptions(), 'debug-api-enable': 'true', 'debug-api-addr': '127.0.0.1:0' };
    const { code, words } = await refused({ ...options, [option]: takenAddress });
    expect(code).toBe(1);
    expect(words).toMatch(/^cannot listen on .*: address already in use$/);
    expect(words).toContain(takenAddress.split(':')[1]);
  });

  test('reports a data folder below a file', async () => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    const { code, words } = await refused({ ...goodOptions(), 'data-dir': join(file, 'data') });
    expect([code, words]).toEqual([1, expect.stringContaining(`cannot keep data in ${file}/data`)]);
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  test('reports a data folder that another node uses', async () => {
    const { dataDir } = net.node(0);
    const { code, words } = await refused({ ...goodOptions(), 'data-dir': dataDir });
    expect([code, words]).toEqual([1, expect.stringContaining(`is used by process ${net.node(0).pid}`)]);
  });

  test('a wrong password, without changing any key file', async () => {
    const options = goodOptions();
    const file = join(options['data-dir'] ?? '', 'keys', 'swarm.key');
    const before = readFileSync(file, 'utf8');
    const { code, words } = await refused({ ...options, password: 'guessed' });
    expect([code, words]).toEqual([1, `${file}: invalid password`]);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test('reports an invalid key file', async () => {
    const options = goodOptions();
    const file = join(options['data-dir'] ?? '', 'keys', 'swarm.key');
    writeFileSync(file, '{"version":3');
    const { code, words } = await refused(options);
    expect([code, words]).toEqual([1, expect.stringContaining(file)]);
  });

  test.each([
    [
      'a chain that nobody serves',
      () => 'http://127.0.0.1:9',
      /^chain endpoint http:\/\/127\.0\.0\.1:9\/: connect ECONNREFUSED/,
    ],
    ['an endpoint that is no chain', () => `http://${plainServer}`, /^malformed answer: .*not JSON/],
  ])('%s, after ten seconds', async (_what, endpoint, words) => {
    const seen = await refused({ ...goodOptions(), 'swap-endpoint': endpoint() });
    expect(seen).toEqual({ code: 1, words: expect.stringMatching(words) as string });
  });

  test.each([
    [
      'an address without a contract',
      () => ({ 'postage-stamp-address': `0x${'11'.repeat(20)}` }),
      'but there is none',
    ],
    ['another contract', () => ({ 'postage-stamp-address': net.chain.contracts.token }), 'but there is none'],
    [
      'another token',
      () => ({ 'token-address': `0x${'11'.repeat(20)}` }),
      'but the one there takes the token 0x',
    ],
  ])('%s', async (_what, options, words) => {
    const seen = await refused({ ...goodOptions(), ...options() });
    expect(seen).toEqual({
      code: 1,
      words: expect.stringMatching(/^expected a postage stamp contract for the token 0x/) as string,
    });
    expect(seen.words).toContain(words);
  });
});

let plainServer: string;
beforeAll(async () => {
  const server = createHttpServer((_request, answer) => answer.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  plainServer = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return () => server.close();
});

describe('a node started by hand', () => {
  async function ready(child: ChildProcess): Promise<string> {
    let seen = '';
    child.stdout?.on('data', (piece) => (seen += String(piece)));
    await eventually('the node is not ready', async () =>
      seen.includes('node is ready') ? undefined : `it has written: ${seen}`,
    );
    const line = seen.split('\n').find((text) => text.includes('node is ready')) ?? '';
    return `http://${(JSON.parse(line) as { api: string }).api}`;
  }

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'stops on %s with code 0, and its port is free again',
    async (signal) => {
      const { child, ended } = start(goodOptions());
      const api = await ready(child);
      expect((await http({ api }, '/readiness')).status).toBe(200);
      child.kill(signal);
      const { code, stderr, stdout } = await ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      for (const line of stdout.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
      await expect(http({ api }, '/health')).rejects.toThrow(/ECONNREFUSED/);
    },
  );

  test('creates its keys in an empty folder, and is the same node at the next start', async () => {
    const options = { ...goodOptions(), 'data-dir': join(folder, 'fresh'), password: 'a secret' };
    const overlays: unknown[] = [];
    for (let run = 0; run < 2; run++) {
      const { child, ended } = start(options);
      const api = await ready(child);
      const { json } = await http({ api }, '/addresses');
      overlays.push([json['overlay'], json['ethereum'], json['publicKey'], json['pssPublicKey']]);
      child.kill('SIGTERM');
      expect((await ended).code).toBe(0);
    }
    expect(overlays[0]).toEqual(overlays[1]);
    expect(readdirSync(join(folder, 'fresh', 'keys')).sort()).toEqual(['libp2p.key', 'pss.key', 'swarm.key']);
  });

  test('stops with code 0 when asked to while it waits for a chain', async () => {
    const options = goodOptions();
    const { child, ended } = start({ ...options, 'swap-endpoint': 'http://127.0.0.1:9' });
    let log = '';
    child.stdout?.on('data', (piece) => (log += String(piece)));
    await eventually('the node does not wait', async () =>
      log.includes('postage events cannot be read') ? undefined : `it has written: ${log}`,
    );
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(join(options['data-dir'] ?? '', 'store'))).toBe(true);
  });
});

test('a node that starts as the page says, with the options of a node of the cluster, joins it', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/node.md'), 'utf8');
  const [, written = ''] = /^node node\/main\.ts start (--config [^]*?)\nnpx svcnet status/m.exec(page) ?? [];
  const flags = written
    .replaceAll('\\\n', '')
    .replace('.svcnet/clusters/$SVCNET_NAME', dirname(dirname(net.node(0).dataDir)))
    .replace('$SVCNET_P2P', net.node(0).p2p)
    .replace('--data-dir mine', `--data-dir ${join(folder, 'mine')}`)
    .replaceAll(/127\.0\.0\.1:17\d\d/g, '127.0.0.1:0')
    .replaceAll('"', '')
    .split(/\s+/);
  const { child, ended } = start({}, flags);
  try {
    await eventually('node-0 has a peer', async () => {
      const { peers } = (await http({ api: net.node(0).debug }, '/peers')).json as { peers: unknown[] };
      return peers.length === 1 ? undefined : `${peers.length} peers`;
    });
  } finally {
    child.kill();
    await ended;
  }
});
