import { Contract, FetchRequest, JsonRpcProvider, Wallet } from 'ethers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { readRecord } from '../../../harness/cluster/state/state.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { freeRange } from '../node/kit.ts';
import { svcnetHere } from '../svcnet.ts';

const ORIGIN = 'http://localhost:3000';

const stateDir = temporaryFolder('svcnet-applications');
let net: Cluster;
let first: number;

beforeAll(async () => {
  first = await freeRange();
  net = await Cluster.start({ name: 'app', nodes: 2, seed: 42, ports: first, cors: ORIGIN, stateDir });
});
afterAll(() => net.stop());

const svcnet = (...args: string[]) => svcnetHere(args, { stateDir });

test('nodes and the chain have the ports of the range', () => {
  expect(net.nodes.map(({ api, debug }) => [api, debug])).toEqual([
    [`http://127.0.0.1:${first}`, `http://127.0.0.1:${first + 2}`],
    [`http://127.0.0.1:${first + 10}`, `http://127.0.0.1:${first + 12}`],
  ]);
  expect(net.chain.rpc).toBe(`http://127.0.0.1:${first + 9}`);
});

test('a port in use is reported with the part that needs it and the process that has it, before anything starts', async () => {
  const { code, stderr } = await svcnet('up', '-n', '2', '--name', 'second', '--port', String(first));
  expect(code).toBe(2);
  expect(stderr).toMatch(
    new RegExp(
      `port ${first + 9} of 127\\.0\\.0\\.1 is in use: the RPC endpoint of the chain wants it, process \\d+ has it \\(.*/chain/options.json.*\\)\nChoose another range`,
    ),
  );
});

test('up --fresh replaces the cluster of its name, which up alone refuses', async () => {
  const once = ['up', '-n', '1', '--driver', 'embedded', '--name', 'again', '--json'];
  const tokenOf = () => readRecord(stateDir, 'again')?.token;
  expect((await svcnet(...once, '--fresh')).code).toBe(0);
  const before = tokenOf();
  expect((await svcnet(...once)).code).toBe(2);
  expect(tokenOf()).toBe(before);
  expect((await svcnet(...once, '--fresh')).code).toBe(0);
  expect([before, tokenOf()]).toEqual([expect.any(String), expect.not.stringMatching(before ?? '')]);
  expect((await svcnet('down', '--name', 'again')).code).toBe(0);
});

test('a page of the allowed origin may call every node, a page of another origin none', async () => {
  for (const { api } of net.nodes) {
    const allowedFor = async (origin: string) => {
      const headers = {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,svc-postage-batch-id',
      };
      const { headers: answered } = await fetch(`${api}/bytes`, { method: 'OPTIONS', headers });
      return answered.get('access-control-allow-origin');
    };
    expect(await allowedFor(ORIGIN)).toBe(ORIGIN);
    expect(await allowedFor('http://localhost:3001')).toBeNull();
  }
});

test('a page of the allowed origin may call the chain, a page of another origin may not', async () => {
  const headers = {
    origin: ORIGIN,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  };
  const preflight = await fetch(net.chain.rpc, { method: 'OPTIONS', headers });
  expect(preflight.ok).toBe(true);
  expect(preflight.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Content-Type');
  const call = (origin: string) =>
    fetch(net.chain.rpc, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    });
  expect((await call(ORIGIN)).headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect((await call('http://localhost:3001')).status).toBe(403);
});

test("the chain's token, which keys prints, opens the methods of a developer", async () => {
  const { stdout } = await svcnet('keys', '--json');
  const { chain } = JSON.parse(stdout) as { chain: { rpc: string; accessToken: string } };
  const mine = (request: FetchRequest) => {
    const provider = new JsonRpcProvider(request, undefined, { cacheTimeout: -1 });
    return provider.send('evm_mine', []).finally(() => provider.destroy());
  };
  await expect(mine(new FetchRequest(chain.rpc))).rejects.toThrow("without the chain's token");
  const withToken = new FetchRequest(chain.rpc);
  withToken.setHeader('authorization', `Bearer ${chain.accessToken}`);
  expect(await mine(withToken)).toBe('0x0');
  expect(await net.chain.call('evm_mine')).toBe('0x0');
});

test('spare accounts can pay in coins and tokens with their keys', async () => {
  const { code, stdout } = await svcnet('keys', '--json');
  expect(code).toBe(0);
  const document = JSON.parse(stdout) as {
    seed: number;
    warning: string;
    chain: { rpc: string; tokenContract: string };
    accounts: { name: string; of: string; address: string; privateKey: string }[];
  };
  expect(document.warning).toContain('use them on this chain only');
  expect(document.accounts.map(({ name, of }) => `${of} ${name}`)).toEqual([
    'node node-0',
    'node node-1',
    'user account-0',
    'user account-1',
    'user account-2',
  ]);
  expect(document.accounts.slice(0, 2).map(({ address }) => address)).toEqual(
    net.nodes.map(({ ethereum }) => `0x${ethereum}`),
  );
  for (const { address, privateKey } of document.accounts)
    expect(new Wallet(privateKey).address.toLowerCase()).toBe(address);
  const [payer, payee] = document.accounts.slice(2);
  if (payer === undefined || payee === undefined) throw new Error('fewer than two spare accounts');
  const provider = new JsonRpcProvider(document.chain.rpc, undefined, { cacheTimeout: -1 });
  try {
    const wallet = new Wallet(payer.privateKey, provider);
    const abi = ['function transfer(address to, uint256 amount) returns (bool)'];
    const token = new Contract(document.chain.tokenContract, abi, wallet);
    const before = await net.chain.tokenBalance(payee.address);
    const sent = (await token.getFunction('transfer')(payee.address, 5n)) as { wait(): Promise<unknown> };
    await sent.wait();
    expect(await net.chain.tokenBalance(payee.address)).toBe(before + 5n);
  } finally {
    provider.destroy();
  }
});

test('keys are shown as a table with a warning', async () => {
  const { stdout } = await svcnet('keys');
  expect(stdout).toMatch(/^ {2}account-2 +0x[0-9a-f]{40} +0x[0-9a-f]{64} +10 +10000$/m);
  expect(stdout).toContain(
    'These keys are derived from the seed or listed in a cluster file. They are not secret: use them on this chain only.',
  );
});
