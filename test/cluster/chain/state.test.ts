import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAccount } from '../../../chain/account.ts';
import { type LocalChain, type LocalChainOptions, startLocalChain } from '../../../chain/local-chain.ts';
import { createRpcClient, type RpcClient } from '../../../chain/rpc.ts';
import { readState, writeState } from '../../../chain/state/state-folder.ts';
import { encodeCall, selectorOf } from '../../../formats/ethereum/abi.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const account = createAccount(`0x${'59'.repeat(32)}`);
const options: LocalChainOptions = {
  networkId: 4020n,
  blockTimeMs: 0,
  accounts: [{ address: account.address, native: 10n ** 19n, tokens: 10n ** 20n }],
  batches: [
    { owner: account.address, amount: 10n ** 9n, depth: 17, immutable: true, nonce: `0x${'01'.repeat(32)}` },
  ],
  chequebooks: [{ issuer: account.address, deposit: 5n }],
};

let folder = '';
const chains: LocalChain[] = [];
const clients: RpcClient[] = [];

beforeEach(() => void (folder = temporaryFolder('svcnet-chain-state')));
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const chain of chains.splice(0)) await chain.stop();
});

async function start(more: Partial<LocalChainOptions> = {}): Promise<{ chain: LocalChain; rpc: RpcClient }> {
  const chain = await startLocalChain({ ...options, stateFolder: folder, ...more });
  const rpc = createRpcClient(chain.rpc);
  chains.push(chain);
  clients.push(rpc);
  return { chain, rpc };
}

async function crash(chain: LocalChain): Promise<void> {
  process.kill(Number(chain.anvilPid), 'SIGKILL');
  await chain.exited;
}

function transfer(token: string, nonce: number): string {
  const data = encodeCall(selectorOf('transfer(address,uint256)'), `0x${'77'.repeat(20)}`, nonce + 1);
  return account.sign({ nonce, to: token, gas: 100_000, data }, 31_337);
}

async function pastOf(rpc: RpcClient, head: number): Promise<unknown> {
  const numbers = Array.from({ length: head + 1 }, (_, number) => `0x${number.toString(16)}`);
  const blocks = await rpc.batch(
    numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [number, true] })),
  );
  const range = { fromBlock: '0x1', toBlock: numbers.at(-1) };
  const logs = (await rpc.call('eth_getLogs', range)) as { transactionHash: string }[];
  const receipts = await rpc.batch(
    logs.map(({ transactionHash }) => ({ method: 'eth_getTransactionReceipt', params: [transactionHash] })),
  );
  return { blocks, logs, receipts };
}

const fixedOf = ({ contracts, batches, chequebooks, startBlock, chainId }: LocalChain) => ({
  contracts,
  batches,
  chequebooks,
  startBlock,
  chainId,
});

test('after kill -9 every block, log and receipt is unchanged, and the head continues from there at the current time', async () => {
  const first = await start();
  for (let nonce = 0; nonce < 4; nonce++) {
    await first.rpc.call('eth_sendRawTransaction', transfer(first.chain.contracts.token, nonce));
    await first.chain.mine(nonce === 2 ? 30 : 1);
  }
  await first.chain.mine(7);
  const head = await first.chain.head();
  const past = await pastOf(first.rpc, head);
  await crash(first.chain);

  const second = await start();
  expect(fixedOf(second.chain)).toEqual(fixedOf(first.chain));
  expect(await second.chain.head()).toBeGreaterThanOrEqual(head);
  expect(await pastOf(second.rpc, head)).toEqual(past);
  expect(await second.rpc.call('eth_getTransactionCount', account.address, 'latest')).toBe('0x4');
  const latest = (await second.rpc.call('eth_getBlockByNumber', 'latest', false)) as { timestamp: string };
  expect(Math.abs(Number(latest.timestamp) - Date.now() / 1000)).toBeLessThan(30);
  // Nodes ask for state a dozen blocks back.
  const before = `0x${((await second.chain.head()) - 12).toString(16)}`;
  expect(await second.rpc.call('eth_getTransactionCount', account.address, before)).toBe('0x4');
  await second.rpc.call('eth_sendRawTransaction', transfer(second.chain.contracts.token, 4));
  await second.chain.mine();
  expect(await second.rpc.call('eth_getTransactionCount', account.address, 'latest')).toBe('0x5');
});

test('more blocks than are kept one by one also survive, and leave one dump', async () => {
  const first = await start();
  for (let round = 0; round < 4; round++) await first.chain.mine(100);
  await first.chain.mine(1000);
  await first.chain.mine();
  const head = await first.chain.head();
  const { hash } = (await first.rpc.call('eth_getBlockByNumber', 'latest', false)) as { hash: string };
  expect(readdirSync(folder).filter((name) => name.endsWith('.dump'))).toHaveLength(1);
  await crash(first.chain);
  const second = await start();
  const same = await second.rpc.call('eth_getBlockByNumber', `0x${head.toString(16)}`, false);
  expect(same).toMatchObject({ hash });
});

test('funded coins, changed prices and replaced blocks survive kill -9', async () => {
  const first = await start();
  const stranger = `0x${'88'.repeat(20)}`;
  await first.chain.mine(5);
  await first.chain.fund(stranger, { native: 3n, tokens: 4n });
  await first.chain.setStoragePrice(48_000n);
  await first.chain.mine(3);
  await first.chain.reorganise(2);
  await first.chain.mine();
  const head = await first.chain.head();
  const past = await pastOf(first.rpc, head);
  await crash(first.chain);
  const { rpc, chain } = await start();
  expect(await pastOf(rpc, head)).toEqual(past);
  expect(await rpc.call('eth_getBalance', stranger, 'latest')).toBe('0x3');
  const price = { to: chain.contracts.postageStamp, data: selectorOf('lastPrice()') };
  expect(Number(await rpc.call('eth_call', price, 'latest'))).toBe(48_000);
});

test("what Anvil's own methods set survives kill -9, with the transactions that need it", async () => {
  const { chain } = await start({ token: 'a-token-of-this-test' });
  const poor = createAccount(`0x${'5a'.repeat(32)}`);
  const own = createRpcClient(chain.rpc, () => ({ authorization: `Bearer ${chain.token}` }));
  clients.push(own);
  await own.call('anvil_setBalance', poor.address, '0xde0b6b3a7640000');
  await chain.mine();
  await own.call(
    'eth_sendRawTransaction',
    poor.sign({ nonce: 0, to: account.address, gas: 21_000, data: '0x' }, 31_337),
  );
  await chain.mine();
  const balance = await own.call('eth_getBalance', poor.address, 'latest');
  await crash(chain);
  const { rpc } = await start();
  expect(await rpc.call('eth_getBalance', poor.address, 'latest')).toBe(balance);
});

test('an orderly stop includes transactions that wait for a block', async () => {
  const first = await start();
  await first.rpc.call('eth_sendRawTransaction', transfer(first.chain.contracts.token, 0));
  await first.chain.stop();
  const { rpc } = await start();
  expect(await rpc.call('eth_getTransactionCount', account.address, 'latest')).toBe('0x1');
});

test('half a line at the end, left by a killed writer, is ignored', async () => {
  const first = await start();
  await first.chain.mine(3);
  const head = await first.chain.head();
  await crash(first.chain);
  const blocks = readdirSync(folder).find((name) => name.endsWith('.blocks')) as string;
  appendFileSync(join(folder, blocks), '{"number":99,"ti');
  const { chain } = await start();
  expect(await chain.head()).toBeGreaterThanOrEqual(head);
});

test.each([
  ['another chain id', { chainId: 1337 }, 'chainId: 31337 there, expected 1337'],
  ['another network id', { networkId: 1n }, 'networkId: 4020 there, expected 1'],
  ['another price', { storagePrice: 30_000 }, 'storagePrice: 24000 there, expected 30000'],
  ['other accounts', { accounts: [] }, 'the accounts (another seed, other nodes or other funds)'],
] as const)('a state is refused with the reason: %s', async (_what, change, reason) => {
  await (await start()).chain.stop();
  await expect(start(change as Partial<LocalChainOptions>)).rejects.toMatchObject({
    code: 'STATE_REFUSED',
    message: expect.stringContaining(reason) as string,
  });
});

test('a state of another version and a damaged one are refused', async () => {
  await (await start()).chain.stop();
  const path = join(folder, 'state.json');
  const saved = readState(folder);
  if (saved === undefined) throw new Error('nothing was saved');
  const identity = { ...saved.identity, anvil: '9.9.9' };
  const dump = readdirSync(folder).find((name) => name.endsWith('.dump')) as string;
  writeState(folder, { ...saved, identity, dump: readFileSync(join(folder, dump)) }).close();
  await expect(start()).rejects.toMatchObject({
    code: 'STATE_REFUSED',
    message: expect.stringContaining('the version of Anvil: 9.9.9 there') as string,
  });
  appendFileSync(path, 'x');
  await expect(start()).rejects.toMatchObject({ code: 'STATE_REFUSED' });
});

test.each([
  ['is missing', false],
  ['is another one', true],
])(
  'the last state of a chain whose folder was moved is not written where it was: what is there %s',
  async (_what, isAnother) => {
    const parent = folder;
    folder = join(parent, 'state');
    const { chain } = await start();
    renameSync(folder, join(parent, 'moved'));
    if (isAnother) mkdirSync(folder);
    await expect(chain.stop()).rejects.toThrow(`its folder was moved or removed, ${folder}`);
    chains.length = 0;
    expect(existsSync(folder) && readdirSync(folder).length > 0).toBe(false);
    folder = join(parent, 'moved');
    expect(fixedOf((await start()).chain)).toEqual(fixedOf(chain));
  },
);

test('a chain can begin with the state that another one has saved', async () => {
  const first = await start({ stateFolder: undefined });
  await first.rpc.call('eth_sendRawTransaction', transfer(first.chain.contracts.token, 0));
  writeState(folder, await first.chain.save()).close();
  const head = await first.chain.head();
  const { rpc, chain } = await start();
  expect(await pastOf(rpc, head)).toEqual(await pastOf(first.rpc, head));
  expect(fixedOf(chain)).toEqual(fixedOf(first.chain));
  expect(await rpc.call('eth_getTransactionCount', account.address, 'latest')).toBe('0x1');
});
