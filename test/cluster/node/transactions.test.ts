import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { eventuallyIn, type HttpReply, http, stateFolder } from './kit.ts';

const TO = `0x${'a1'.repeat(20)}`;
const stateDir = stateFolder();
let net: Cluster;
const eventually = eventuallyIn(() => net);
let node: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({
    nodes: [{ count: 1, options: { 'withdrawal-addresses-whitelist': TO } }],
    driver: 'simulated',
    seed: 21,
    stateDir,
    batches: false,
    chain: { blockTime: '200ms', gate: true },
  });
  node = net.node(0);
});
beforeEach(async () => {
  await net.chain.resume();
  await pendingIs(0);
});
afterAll(async () => {
  await net.stop();
});

function withdraw(coin: string, amount: bigint, headers: Record<string, string> = {}): Promise<HttpReply> {
  return http(node, `/wallet/withdraw/${coin}?amount=${amount}&address=${TO}`, { method: 'POST', headers });
}

async function sent(coin: string, amount: bigint): Promise<string> {
  const { status, json } = await withdraw(coin, amount);
  expect([status, json]).toEqual([200, { transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) }]);
  return json['transactionHash'] as string;
}

async function pending(): Promise<Record<string, unknown>[]> {
  return (await http(node, '/transactions')).json['pendingTransactions'] as Record<string, unknown>[];
}

function pendingIs(count: number): Promise<true> {
  return eventually(`not ${count} pending transactions`, async () => {
    const { length } = await pending();
    return length === count ? undefined : `there are ${length}`;
  });
}

function receives(what: string, read: () => Promise<bigint>, expected: bigint): Promise<true> {
  return eventually(`${what} has not arrived`, async () => {
    const balance = await read();
    return balance === expected ? undefined : `${balance} instead of ${expected}`;
  });
}

const native = () => net.chain.nativeBalance(TO);
const nonce = () => net.chain.call<string>('eth_getTransactionCount', [`0x${node.ethereum}`, 'latest']);

test('both currencies arrive to the last unit, and the wallet falls by the amount sent and its gas', async () => {
  const before = await http(node, '/wallet');
  expect(before.json['nativeTokenBalance']).toBe(String(await net.chain.nativeBalance(`0x${node.ethereum}`)));
  await sent('svc', 7n);
  await receives('the token', () => net.chain.tokenBalance(TO), 7n);
  const hash = await sent('NativeToken', 1_000_000n);
  await receives('the coin', native, 1_000_000n);
  await pendingIs(0);
  const after = await http(node, '/wallet');
  expect(BigInt(after.json['svcBalance'] as string)).toBe(BigInt(before.json['svcBalance'] as string) - 7n);
  expect(after.json['nativeTokenBalance']).toBe(String(await net.chain.nativeBalance(`0x${node.ethereum}`)));
  expect((await http(node, `/transactions/${hash}`)).json).toMatchObject({
    transactionHash: hash,
    to: 'a1'.repeat(20),
    value: '1000000',
    data: '0x',
    gasLimit: 300_000,
    description: 'native token withdraw',
  });
});

test('gas headers are applied, and a price below the base fee sends nothing', async () => {
  const { baseFeePerGas } = await net.chain.call<{ baseFeePerGas: string }>('eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  const price = BigInt(baseFeePerGas) * 2n + 1000n;
  const { json } = await withdraw('nativetoken', 1n, { 'gas-price': String(price), 'gas-limit': '50000' });
  const info = (await http(node, `/transactions/${String(json['transactionHash'])}`)).json;
  expect(info).toMatchObject({ gasPrice: String(price), gasFeeCap: String(price), gasLimit: 50_000 });
  const before = await nonce();
  const refused = await withdraw('nativetoken', 1n, { 'gas-price': '0' });
  expect(refused.json).toEqual({
    code: 400,
    message: 'unable to transfer',
    reasons: [expect.stringMatching(/^gas-price: specified gas price 0 is below current base fee \d+$/)],
  });
  await pendingIs(0);
  expect(BigInt(await nonce()) - BigInt(before)).toBeLessThanOrEqual(1n);
});

test('a gas limit below the cost of the data is raised: the call fails on the chain, and nothing waits behind it', async () => {
  const before = await native();
  const bought = await http(node, '/stamps/100000000/17', { method: 'POST', headers: { 'gas-limit': '1' } });
  expect(bought.json).toMatchObject({
    code: 400,
    message: 'cannot create batch',
    reasons: [expect.stringMatching(/^gas-limit: gas limit of 1, the transaction needs \d+$/)],
  });
  await sent('nativetoken', 3n);
  await receives('the coin', native, before + 3n);
});

test('a pending transaction is listed, is already known when sent again, and is replaced when cancelled', async () => {
  const before = await native();
  await net.chain.pause();
  const hash = await sent('nativetoken', 5n);
  expect((await pending()).map((info) => info['transactionHash'])).toEqual([hash]);
  const again = await http(node, `/transactions/${hash}`, { method: 'POST' });
  expect(again.json).toEqual({ code: 400, message: 'already imported' });
  const cancelled = await http(node, `/transactions/${hash}`, { method: 'DELETE' });
  expect(cancelled.status).toBe(200);
  const replacement = cancelled.json['transactionHash'] as string;
  expect((await pending()).map((info) => info['transactionHash'])).toEqual([hash, replacement]);
  await net.chain.resume();
  await pendingIs(0);
  expect(await native()).toBe(before);
  expect((await http(node, `/transactions/${replacement}`)).json['description']).toBe(
    'native token withdraw (cancellation)',
  );
});

test('pending transactions of a killed node are sent again after its start, from the same bytes', async () => {
  const before = await native();
  await net.chain.pause();
  const hash = await sent('nativetoken', 11n);
  await node.kill();
  await net.chain.call('anvil_dropTransaction', [hash]);
  await net.chain.resume();
  await node.start();
  await receives('the coin', native, before + 11n);
  await pendingIs(0);
});

test('an endpoint that is away for a while does not affect a pending transaction', async () => {
  const before = await native();
  await net.chain.pause();
  await sent('nativetoken', 13n);
  await net.chain.setRpcFault({ kind: 'down' });
  expect((await withdraw('nativetoken', 1n)).json).toEqual({
    code: 500,
    message: 'unable to acquire balance from the chain backend',
    reasons: ['chain: the endpoint does not answer, try again later'],
  });
  await net.chain.resume();
  await net.chain.setRpcFault({ kind: 'none' });
  await receives('the coin', native, before + 13n);
});

test('a withdrawal removed by a reorganisation is made again', async () => {
  const before = await native();
  await sent('nativetoken', 17n);
  await pendingIs(0);
  const head = await net.chain.height();
  await net.chain.pause();
  await net.chain.reorganise(Math.min(head - 1, 20));
  expect(await native()).toBeLessThan(before + 17n);
  await net.chain.resume();
  await receives('the coin', native, before + 17n);
});
