import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Gate } from '../../../chain/gate/gate.ts';
import { type LocalChain, startLocalChain } from '../../../chain/local-chain.ts';
import { createRpcClient, type RpcClient } from '../../../chain/rpc.ts';
import { openSending, payee, SENDER } from './sending.ts';

const soon = { timeout: 120_000, interval: 20 };
const patience = () => AbortSignal.timeout(120_000);

let chain: LocalChain;
let gate: Gate;
let rpc: RpcClient;
/** Every payment has its own payee. */
let payments = 0;

beforeAll(async () => {
  const accounts = [{ address: SENDER, native: 10n ** 18n, tokens: 0n }];
  chain = await startLocalChain({ networkId: 4020n, blockTimeMs: 100, accounts });
  gate = chain.gate;
  rpc = createRpcClient(chain.rpc, () => ({ authorization: `Bearer ${chain.token}` }));
});
afterAll(async () => {
  await chain.stop();
});

async function start(client = 'node-0') {
  const path = await mkdtemp(join(tmpdir(), 'svc-sending-'));
  const sending = await openSending(path, `${gate.url}/${client}`);
  onTestFinished(async () => {
    gate.setFault('all', undefined);
    chain.resume();
    await sending.stop();
    await rm(path, { recursive: true });
  });
  sending.transactions.start();
  return sending;
}

const balance = (n: number) => rpc.call('eth_getBalance', payee(n), 'latest');

test('an endpoint that is away after a transaction was sent delays it, for every caller', async () => {
  const { pay } = await start();
  await chain.pause();
  const n = ++payments;
  const paid = pay(n, patience());
  await expect.poll(() => rpc.call('eth_getTransactionCount', SENDER, 'pending'), soon).toBe('0x1');
  gate.setFault('all', { client: undefined, fault: { kind: 'down' } });
  await expect.poll(() => gate.counts.get('node-0')?.met, soon).toBeGreaterThan(3);
  chain.resume();
  gate.setFault('all', undefined);
  expect((await paid).status).toBe('success');
  expect(await balance(n)).toBe('0x1');
});

test('a chain without blocks keeps everything pending, in order, until it continues', async () => {
  const { transactions, pay } = await start();
  await chain.pause();
  const numbers = [++payments, ++payments, ++payments];
  const paid = numbers.map((n) => pay(n, patience()));
  await expect.poll(() => transactions.pending().length, soon).toBe(3);
  chain.resume();
  expect(new Set((await Promise.all(paid)).map(({ status }) => status))).toEqual(new Set(['success']));
  expect(await Promise.all(numbers.map(balance))).toEqual(['0x1', '0x1', '0x1']);
});

test('calls that are refused at times cost no transaction and no nonce', async () => {
  const { transactions, pay } = await start();
  gate.setFault('all', { client: undefined, fault: { kind: 'error', percent: 10 } });
  const n = ++payments;
  expect((await pay(n, patience())).status).toBe('success');
  expect(gate.counts.get('node-0')?.met).toBeGreaterThan(0);
  gate.setFault('all', undefined);
  expect(await balance(n)).toBe('0x1');
  expect(transactions.pending()).toEqual([]);
  expect(Number(await rpc.call('eth_getTransactionCount', SENDER, 'latest'))).toBe(payments);
});

test('a transaction that the endpoint drops is sent again', async () => {
  const { transactions, pay } = await start();
  await chain.pause();
  const n = ++payments;
  const paid = pay(n, patience());
  await expect.poll(() => transactions.pending().length, soon).toBe(1);
  await expect
    .poll(() => rpc.call('anvil_dropTransaction', transactions.pending()[0]?.hash), soon)
    .toBeTruthy();
  chain.resume();
  expect((await paid).status).toBe('success');
  expect(await balance(n)).toBe('0x1');
});

test('transactions reported as mined are mined again when a reorganisation removes them', async () => {
  const { transactions, pay } = await start();
  const numbers = [++payments, ++payments];
  const receipts = await Promise.all(numbers.map((n) => pay(n, patience())));
  const first = Math.min(...receipts.map(({ blockNumber }) => blockNumber));
  // No block comes between the look at the head and its end.
  await chain.pause();
  await chain.reorganise((await chain.head()) - first + 1);
  expect(await Promise.all(numbers.map(balance))).toEqual(['0x0', '0x0']);
  chain.resume();
  await expect.poll(() => Promise.all(numbers.map(balance)), soon).toEqual(['0x1', '0x1']);
  await expect.poll(() => transactions.pending(), soon).toEqual([]);
  for (const { transactionHash, blockNumber } of receipts) {
    const outcome = transactions.find(transactionHash)?.outcome;
    if (outcome?.kind !== 'mined') throw new Error(`${transactionHash} is ${String(outcome?.kind)}`);
    expect(outcome.receipt.blockNumber).toBeGreaterThan(blockNumber);
  }
});

test('a cancelled transaction leaves its payee unpaid and its nonce to the replacement', async () => {
  const { transactions, pay } = await start();
  await chain.pause();
  const n = ++payments;
  const paid = expect(pay(n, patience())).rejects.toMatchObject({ code: 'TRANSACTION_CANCELLED' });
  await expect.poll(() => transactions.pending().length, soon).toBe(1);
  const original = transactions.pending()[0]?.hash ?? '';
  // It is written down before it is sent.
  await expect.poll(() => rpc.call('eth_getTransactionByHash', original), soon).not.toBeNull();
  await expect(transactions.resend(original, patience())).rejects.toMatchObject({ code: 'ALREADY_IMPORTED' });
  const replacement = await transactions.cancel(original, {}, patience());
  chain.resume();
  await paid;
  expect((await transactions.wait(replacement, patience())).status).toBe('success');
  expect(await balance(n)).toBe('0x0');
  expect(Number(await rpc.call('eth_getTransactionCount', SENDER, 'latest'))).toBe(payments);
});
