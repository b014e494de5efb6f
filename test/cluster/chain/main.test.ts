import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRpcClient } from '../../../chain/rpc.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { player } from './network.ts';

const MAIN = fileURLToPath(new URL('../../../chain/main.ts', import.meta.url));
const TOKEN = 'a-token-of-a-chain';
const minimal = { networkId: 4020, blockTimeMs: 0, accounts: [], token: TOKEN };
const authorization = { authorization: `Bearer ${TOKEN}` };

let home = '';
const children: ChildProcess[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'svcnet-chain-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(home, { recursive: true });
});

interface Ready {
  ready: boolean;
  rpc: string;
  control: string;
  anvilPid: number;
  [field: string]: unknown;
}

function launch(
  args: string[],
  environment: Record<string, string> = {},
  errors: 'pipe' | number = 'pipe',
): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, HOME: home, TMPDIR: home, ...environment },
    stdio: ['pipe', 'pipe', errors],
  });
  children.push(child);
  return child;
}

async function startWith(
  options: Record<string, unknown> = {},
  errors: 'pipe' | number = 'pipe',
): Promise<{ child: ChildProcess; ready: Ready }> {
  const child = launch([], { SVC_CHAIN_OPTIONS: JSON.stringify({ ...minimal, ...options }) }, errors);
  if (child.stdout === null) throw new Error('no output');
  const [line] = await once(createInterface(child.stdout), 'line');
  const ready: Ready = JSON.parse(String(line));
  return { child, ready };
}

function shared(options: Record<string, unknown> = {}): { ready: Ready } {
  const folder = temporaryFolder('svcnet-chain');
  const chain: Partial<Awaited<ReturnType<typeof startWith>>> = {};
  beforeAll(async () => {
    home = folder;
    Object.assign(chain, await startWith(options));
    // It outlives each test.
    children.splice(0);
  });
  afterAll(() => void chain.child?.kill('SIGKILL'));
  return chain as { ready: Ready };
}

async function endOf(child: ChildProcess): Promise<{ code: unknown; text: string }> {
  let text = '';
  child.stderr?.on('data', (part: Buffer) => {
    text += part.toString('utf8');
  });
  child.stdout?.resume();
  const [code] = await once(child, 'close');
  return { code, text };
}

async function silent(url: string): Promise<void> {
  for (;;) {
    const rpc = createRpcClient(url);
    try {
      await rpc.call('eth_chainId');
      await new Promise((resolve) => setTimeout(resolve, 10));
    } catch {
      return;
    } finally {
      rpc.close();
    }
  }
}

/** Makes Anvil write into its folder. */
async function rewind(ready: Ready): Promise<void> {
  const rpc = createRpcClient(ready.rpc, () => authorization);
  await rpc.call('anvil_rollback', 3);
  rpc.close();
  expect(await readdir(home)).toEqual([expect.stringMatching(/^svcnet-chain-/)]);
}

async function post(
  ready: Ready,
  command: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const method = command.startsWith('state') ? 'GET' : 'POST';
  const response = await fetch(`${ready.control}/${command}`, { method, headers: authorization });
  const body: Record<string, unknown> = JSON.parse(await response.text());
  return { status: response.status, body };
}

describe('the ready line', () => {
  test('contains everything that nodes need', async () => {
    const nonce = `0x${'01'.repeat(32)}`;
    const batches = [{ owner: player.address, amount: '2073600000', depth: 20, immutable: false, nonce }];
    const chequebooks = [{ issuer: player.address, deposit: '500000000000000000' }];
    const { ready } = await startWith({ batches, chequebooks });
    expect(ready).toEqual({
      ready: true,
      control: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      rpc: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      chainId: 31_337,
      contracts: expect.objectContaining({ token: '0x5FbDB2315678afecb367f032d93F642f64180aa3' }),
      startBlock: 1,
      batches: [{ id: expect.stringMatching(/^0x[0-9a-f]{64}$/), owner: player.address, depth: 20 }],
      chequebooks: [{ issuer: player.address, address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) }],
      anvilPid: expect.any(Number),
    });
  });

  test('is also printed with a file of options, and on all interfaces names an address to connect to', async () => {
    const file = join(home, 'chain.json');
    await writeFile(file, JSON.stringify({ ...minimal, host: '0.0.0.0' }));
    const child = launch([file]);
    if (child.stdout === null) throw new Error('no output');
    const [line] = await once(createInterface(child.stdout), 'line');
    expect(JSON.parse(String(line))).toMatchObject({ rpc: expect.stringContaining('127.0.0.1') });
  });
});

describe('the control endpoint', () => {
  test('drives the chain', async () => {
    const { ready } = await startWith();
    const { body: start } = await post(ready, 'state');
    expect(start).toMatchObject({ rpc: ready.rpc, paused: false, blockTimeMs: 0 });
    const head = Number(start['head']);
    expect((await post(ready, 'mine')).body).toMatchObject({ head: head + 1 });
    expect((await post(ready, 'mine?blocks=10')).body).toMatchObject({ head: head + 11 });
    expect((await post(ready, 'pause')).body).toMatchObject({ paused: true });
    expect((await post(ready, 'block-time?ms=5000')).body).toMatchObject({
      paused: true,
      blockTimeMs: 5_000,
    });
    const fund = `fund?address=${player.address}&native=5&tokens=7`;
    expect(await post(ready, fund)).toMatchObject({ status: 409, body: { code: 'PAUSED' } });
    expect((await post(ready, 'block-time?ms=0')).status).toBe(200);
    expect((await post(ready, 'resume')).body).toMatchObject({ paused: false });
    expect((await post(ready, fund)).body).toMatchObject({ head: head + 12 });
  });

  test('of a chain with a block time mines on demand only when forced', async () => {
    const { ready } = await startWith({ steady: true });
    const head = Number((await post(ready, 'state')).body['head']);
    expect(await post(ready, 'mine')).toMatchObject({
      status: 409,
      body: { code: 'STEADY', message: expect.stringContaining('force=true') },
    });
    expect((await post(ready, 'mine?blocks=3&force=true')).body).toMatchObject({ head: head + 3 });
  });

  test('changes prices, pauses contracts and reorganises the chain', async () => {
    const { ready } = await startWith();
    for (const command of [
      'swap-price?price=100000&deduction=100',
      'storage-price?price=48000',
      'pause-contract?contract=stakeRegistry',
      'resume-contract?contract=stakeRegistry',
      'reorg?blocks=2',
    ])
      expect(await post(ready, command)).toMatchObject({ status: 200 });
    // The end of the pause was lost with its block.
    expect(await post(ready, 'pause-contract?contract=stakeRegistry')).toMatchObject({ status: 200 });
    expect(await post(ready, 'pause-contract?contract=stakeRegistry')).toMatchObject({
      status: 409,
      body: { code: 'REFUSED' },
    });
  });

  test('breaks the endpoint for clients of the gate', async () => {
    const { ready } = await startWith({ gate: true });
    const ask = (client: string) =>
      fetch(`${String(ready['gate'])}/${client}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}',
      });
    expect(await (await ask('node-0')).json()).toMatchObject({ result: '0x7a69' });
    expect((await post(ready, 'rpc-fault?kind=down&client=node-0')).status).toBe(200);
    await expect(ask('node-0')).rejects.toThrow();
    expect(await (await ask('node-1')).json()).toMatchObject({ result: '0x7a69' });
    expect((await post(ready, 'rpc-fault?kind=error&percent=100')).status).toBe(200);
    expect(await (await ask('node-1')).json()).toMatchObject({ error: { code: -32_005 } });
    await post(ready, 'rpc-fault?kind=none&client=node-0');
    const { body } = await post(ready, 'rpc-fault?kind=none');
    expect(body['clients']).toEqual({
      'node-0': { requests: 2, met: 1, byKind: { down: 1 } },
      'node-1': { requests: 2, met: 1, byKind: { error: 1 } },
    });
    expect(await (await ask('node-0')).json()).toMatchObject({ result: '0x7a69' });
  });

  test('is closed to pages, to names that were made to lead here, and without the token', async () => {
    const { ready } = await startWith();
    const mine = async (headers: Record<string, string>) => {
      const { statusCode: status, body } = await request(`${ready.control}/mine`, {
        method: 'POST',
        headers,
      });
      return [status, ((await body.json()) as { message?: string }).message];
    };
    const head = async () => (await post(ready, 'state')).body['head'];
    const before = await head();
    expect(await mine({})).toEqual([401, expect.stringContaining('the token of the chain is missing')]);
    expect(await mine({ authorization: 'Bearer another-token-here' })).toEqual([
      401,
      'this is not the token of the chain',
    ]);
    expect(await mine({ ...authorization, origin: ready.control })).toEqual([
      403,
      'the control endpoint of a chain is for no page',
    ]);
    expect(await mine({ ...authorization, 'sec-fetch-site': 'cross-site' })).toMatchObject([
      403,
      expect.any(String),
    ]);
    expect(await mine({ ...authorization, host: 'evil.example' })).toEqual([
      403,
      expect.stringContaining('host name not allowed'),
    ]);
    expect(await head()).toBe(before);
    expect((await fetch(`${ready.control}/health`)).status).toBe(200);
    expect((await fetch(`${ready.control}/state`)).status).toBe(401);
  });

  test('lets at most sixteen commands that mine wait for each other', async () => {
    const { ready } = await startWith();
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(ready, 'mine?blocks=200')));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused[0]).toMatchObject({ status: 429, body: { code: 'BUSY' } });
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(16);
    expect(await post(ready, 'mine')).toMatchObject({ status: 200 });
  });
});

describe('a command that changes nothing', () => {
  const chain = shared();

  test.each([
    ['mine?blocks=0', 400, 'cannot mine 0 blocks'],
    ['mine?blocks=x', 400, 'blocks is "x", expected a whole number'],
    ['block-time', 400, 'ms is "", expected a whole number'],
    ['fund?address=0x12&tokens=1', 400, 'address is "0x12", expected 0x and 40 hex digits'],
    [`fund?address=${player.address}&tokens=-1`, 400, 'tokens is "-1", expected a whole number'],
    ['swap-price?price=x', 400, 'price is "x", expected a whole number'],
    ['storage-price', 400, 'price is "", expected a whole number'],
    [
      'pause-contract?contract=chequebookFactory',
      400,
      'contract is "chequebookFactory", expected one of token, postageStamp, postagePriceOracle, stakeRegistry',
    ],
    ['reorg?blocks=0', 400, 'cannot replace 0 blocks'],
    ['rpc-fault?kind=down', 400, 'the chain was started without gate'],
    ['reorganise', 404, 'no command POST /reorganise'],
    ['/', 404, 'no command POST //'],
  ])('answers POST /%s with %i', async (command, status, message) => {
    expect(await post(chain.ready, command)).toMatchObject({
      status,
      body: { message: expect.stringContaining(message) },
    });
  });
});

describe('of a chain with a gate', () => {
  const chain = shared({ gate: true });

  test.each([
    ['kind=broken', 'kind is "broken", expected one of down, error, slow, wrong, lag, frozen, none'],
    ['kind=error&percent=101', 'percent is "101", expected a whole number from 0 to 100'],
    ['kind=slow', 'ms is "", expected a whole number'],
    ['kind=slow&ms=2147483648', 'ms is "2147483648", expected a whole number from 0 to 2147483647'],
  ])('a gate fault %s is refused', async (query, message) => {
    expect(await post(chain.ready, `rpc-fault?${query}`)).toMatchObject({ status: 400, body: { message } });
  });
});

describe('the process ends', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('in order on %s and leaves no file behind', async (signal) => {
    const { child, ready } = await startWith({ blockTimeMs: 10 });
    await post(ready, 'mine?blocks=2000');
    await rewind(ready);
    child.kill(signal);
    expect(await endOf(child)).toEqual({ code: 0, text: '' });
    await silent(ready.rpc);
    expect(await readdir(home)).toEqual([]);
  });

  test('with its standard input when asked to', async () => {
    const { child, ready } = await startWith({ stopOnStdinEnd: true });
    child.stdin?.end();
    expect((await endOf(child)).code).toBe(0);
    await silent(ready.rpc);
  });

  test('and takes Anvil with it when it is killed', async () => {
    const { child, ready } = await startWith();
    await rewind(ready);
    child.kill('SIGKILL');
    await silent(ready.rpc);
    while ((await readdir(home)).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  test('with an error when Anvil ends by itself', async () => {
    const { child, ready } = await startWith();
    process.kill(ready.anvilPid, 'SIGKILL');
    expect(await endOf(child)).toEqual({ code: 1, text: 'Anvil ended by itself: signal SIGKILL\n' });
  });

  test('before it is ready when stopped during the start', async () => {
    const child = launch([], { SVC_CHAIN_OPTIONS: JSON.stringify({ ...minimal, stopOnStdinEnd: true }) });
    child.stdin?.end();
    expect((await endOf(child)).code).toBe(0);
  });
});

describe('the process does not start', () => {
  test.each([
    ['without options', [], {}, 'usage: node chain/main.ts'],
    ['with a missing file', ['/no/such/file'], {}, 'cannot read /no/such/file'],
    [
      'with a wrong option',
      [],
      { SVC_CHAIN_OPTIONS: `{"accounts":[],"token":"${TOKEN}"}` },
      'networkId is missing, expected a whole number',
    ],
  ])('%s and reports it with exit code 2', async (_, args, environment, message) => {
    const { code, text } = await endOf(launch(args, environment));
    expect(code).toBe(2);
    expect(text).toContain(message);
    expect(text.trim().split('\n')).toHaveLength(1);
  });

  test('on a control port in use, and leaves no chain behind', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = Object(server.address());
    const options = JSON.stringify({ ...minimal, controlPort: port });
    const { code, text } = await endOf(launch([], { SVC_CHAIN_OPTIONS: options }));
    expect([code, text]).toEqual([1, `port ${port} of 127.0.0.1 is already in use\n`]);
    server.close();
  });
});

test('a full disk below the state and the log does not end the process', async () => {
  const stateFolder = join(home, 'state');
  await using full = await open('/dev/full', 'w');
  const { ready } = await startWith({ stateFolder, blockTimeMs: 20 }, full.fd);
  await rm(stateFolder, { recursive: true });
  await writeFile(stateFolder, '');
  const { status, body } = await post(ready, `fund?address=${player.address}&native=1`);
  expect([status, body['message']]).toEqual([500, expect.stringContaining(stateFolder)]);
  const rpc = createRpcClient(ready.rpc);
  const head = async () => Number(await rpc.call('eth_blockNumber'));
  // Every block is one that could not be written down, and a line about it.
  const then = await head();
  while ((await head()) < then + 5) await new Promise((resolve) => setTimeout(resolve, 10));
  rpc.close();
  expect(await post(ready, 'state')).toMatchObject({ status: 200 });
});

test('a killed process leaves a state from which the next one continues with the same ready line', async () => {
  const stateFolder = join(home, 'state');
  const accounts = [{ address: `0x${'12'.repeat(20)}`, native: '5', tokens: '7' }];
  const options = { stateFolder, accounts, blockTimeMs: 20 };
  const first = await startWith(options);
  const rpc = createRpcClient(first.ready.rpc);
  let head = 0;
  while (head < 40) head = Number(await rpc.call('eth_blockNumber'));
  first.child.kill('SIGKILL');
  rpc.close();
  await silent(first.ready.rpc);
  const second = await startWith(options);
  const fixed = ({ rpc: _rpc, control: _control, anvilPid: _pid, ...rest }: Ready) => rest;
  expect(fixed(second.ready)).toEqual(fixed(first.ready));
  const again = createRpcClient(second.ready.rpc);
  expect(Number(await again.call('eth_blockNumber'))).toBeGreaterThanOrEqual(head);
  again.close();
  second.child.kill('SIGTERM');
  expect(await endOf(second.child)).toMatchObject({ code: 0 });
  const refused = launch([], {
    SVC_CHAIN_OPTIONS: JSON.stringify({ ...minimal, ...options, chainId: 1337 }),
  });
  expect(await endOf(refused)).toMatchObject({
    code: 2,
    text: expect.stringContaining('chainId: 31337 there, expected 1337') as string,
  });
});
