import { describe, expect, onTestFinished, test } from 'vitest';
import { fromHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { ChainError } from '../../../../formats/ethereum/chain-error.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { createTransactions } from '../../../../node/onchain/transactions/transactions.ts';
import { FakeEndpoint } from '../fake-endpoint.ts';
import { MemoryState } from '../memory-state.ts';
import { VirtualClock } from '../virtual-clock.ts';

const signer = createSigner(fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'));
const ACCOUNT = '0x8d3766440f0d7b949a5e32995d09619a7f86e632';
const request = { to: `0x${'12'.repeat(20)}`, data: '0x01020304', description: 'a call' };
const forever = new AbortController().signal;
const code = (expected: string) => expect.objectContaining({ code: expected }) as ChainError;

function setUp(disk = new Map<string, Uint8Array>(), endpoint = new FakeEndpoint()) {
  const metrics = createMetrics({ prefix: 'svc' });
  const deps = { rpc: endpoint.chain, signer, clock: new VirtualClock(), log: silentLogger(), metrics };
  const options = { pollIntervalMs: 1000, minimumTip: 0n, gasLimitFallback: 500_000n };
  const transactions = createTransactions(options, { ...deps, state: new MemoryState(disk) });
  onTestFinished(() => transactions.stop());
  const send = (more = {}) => transactions.send({ ...request, ...more }, forever);
  const outcome = (hash: string) => transactions.find(hash)?.outcome;
  return { disk, endpoint, transactions, send, outcome, metrics };
}

/** Ends with the test's deadline at the latest. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

const minedAt = (outcome: ReturnType<ReturnType<typeof setUp>['outcome']>) =>
  outcome?.kind === 'mined' ? outcome.receipt.blockNumber : undefined;

describe('a reorganisation', () => {
  test('that removes a mined transaction before it was noticed only delays it', async () => {
    const { endpoint, send, transactions } = setUp();
    let removed = false;
    endpoint.onCall = (method) => {
      if (method !== 'eth_getTransactionReceipt' || removed || endpoint.mined().length === 0) return;
      removed = true;
      endpoint.reorganise(5);
    };
    const hash = await send();
    expect((await transactions.wait(hash, forever)).transactionHash).toBe(hash);
    expect([removed, endpoint.taken.length]).toEqual([true, 1]);
  });

  test('that removes a transaction which was reported as mined causes it to be sent again', async () => {
    const { endpoint, send, transactions, outcome } = setUp();
    const hash = await send();
    const { blockNumber } = await transactions.wait(hash, forever);
    endpoint.reorganise(20);
    await until(() => (minedAt(outcome(hash)) ?? 0) > blockNumber);
    expect(endpoint.mined().map((transaction) => transaction.hash)).toEqual([hash]);
    expect(endpoint.taken.length).toBe(1);
    expect(transactions.pending()).toEqual([]);
  });

  test('that removes several transactions causes them to be sent again in order', async () => {
    const { endpoint, send, transactions } = setUp();
    const hashes = [await send(), await send(), await send()];
    await Promise.all(hashes.map((hash) => transactions.wait(hash, forever)));
    endpoint.reorganise(60);
    await until(() => transactions.pending().length > 0);
    await until(() => transactions.pending().length === 0);
    expect(endpoint.mined().map(({ hash }) => hash)).toEqual(hashes);
  });

  test('is noticed while no blocks come, at the same height', async () => {
    const { endpoint, send, transactions } = setUp();
    const hash = await send();
    await transactions.wait(hash, forever);
    endpoint.growing = false;
    for (let i = 0; i < 100; i++) await new Promise(setImmediate);
    endpoint.reorganise(5);
    await until(() => transactions.pending().length === 1);
    endpoint.growing = true;
    await until(() => transactions.pending().length === 0);
    expect(endpoint.mined().map((transaction) => transaction.hash)).toEqual([hash]);
  });

  test('is noticed even if the endpoint cannot answer at first', async () => {
    const { endpoint, send, transactions } = setUp();
    const hash = await send();
    await transactions.wait(hash, forever);
    endpoint.growing = false;
    for (let i = 0; i < 100; i++) await new Promise(setImmediate);
    endpoint.fault('eth_getTransactionReceipt', new ChainError('RPC_ERROR', 'block not found'));
    endpoint.reorganise(5);
    await until(() => transactions.pending().length === 1);
  });

  test('is also noticed by the next process', async () => {
    const before = setUp();
    const hash = await before.send();
    const { blockNumber } = await before.transactions.wait(hash, forever);
    await before.transactions.stop();
    before.endpoint.reorganise(20);
    const after = setUp(before.disk, before.endpoint);
    after.transactions.start();
    await until(() => (minedAt(after.outcome(hash)) ?? 0) > blockNumber);
  });

  test('that mines a cancelled transaction after all is reported correctly', async () => {
    const { endpoint, send, transactions, outcome } = setUp();
    endpoint.mining = false;
    const original = await send();
    const raw = endpoint.taken[0];
    const replacement = await transactions.cancel(original, {}, forever);
    endpoint.mining = true;
    await transactions.wait(replacement, forever);
    await until(() => outcome(original)?.kind === 'cancelled');
    endpoint.reorganise(30);
    if (raw === undefined) throw new Error('nothing was sent');
    endpoint.useNonce(raw);
    await until(() => outcome(original)?.kind === 'mined' && outcome(replacement)?.kind === 'cancelled');
    expect(transactions.pending()).toEqual([]);
  });

  test('is noticed although the endpoint once named a height far ahead', async () => {
    const { endpoint, send, transactions, outcome } = setUp();
    const hash = await send();
    const { blockNumber } = await transactions.wait(hash, forever);
    const looks = () => endpoint.calls.filter((method) => method === 'eth_getTransactionReceipt').length;
    const before = looks();
    endpoint.ahead = 100_000;
    await until(() => looks() >= before + 3);
    endpoint.ahead = 0;
    endpoint.reorganise(20);
    await until(() => (minedAt(outcome(hash)) ?? 0) > blockNumber);
  });

  test('is no longer looked for although a height far ahead was named when a transaction was replaced', async () => {
    const { disk, endpoint, send, transactions, outcome } = setUp();
    endpoint.mining = false;
    const original = await send();
    const replacement = await transactions.cancel(original, {}, forever);
    endpoint.mining = true;
    endpoint.ahead = 100_000;
    await until(() => outcome(original)?.kind === 'cancelled');
    endpoint.ahead = 0;
    expect(outcome(original)).toEqual({ kind: 'cancelled', blockNumber: minedAt(outcome(replacement)) });
    await until(() => ![...disk.keys()].some((key) => key.startsWith('recent/')));
  });

  test('is no longer looked for sixty-four blocks later', async () => {
    const { disk, endpoint, send, transactions } = setUp();
    const { blockNumber } = await transactions.wait(await send(), forever);
    await until(() => ![...disk.keys()].some((key) => key.startsWith('recent/')));
    expect(endpoint.height).toBeGreaterThanOrEqual(blockNumber + 64);
    const { length } = endpoint.calls;
    for (let i = 0; i < 100; i++) await new Promise(setImmediate);
    expect(endpoint.calls.length).toBe(length);
  });
});

describe('an endpoint that lags behind', () => {
  test('and has no receipt of a mined transaction yet costs nothing', async () => {
    const { endpoint, send, transactions, outcome } = setUp();
    const hash = await send();
    await transactions.wait(hash, forever);
    const receipt = endpoint.chain.receipt.bind(endpoint.chain);
    let asked = 0;
    endpoint.chain.receipt = async (...args) => (asked++ < 6 ? undefined : receipt(...args));
    await until(() => asked > 8);
    await until(() => outcome(hash)?.kind === 'mined');
    expect([endpoint.taken.length, transactions.pending().length]).toEqual([1, 0]);
  });

  test('and has no state of earlier blocks says nothing about a lost transaction', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    const minedCount = endpoint.chain.minedCount.bind(endpoint.chain);
    let asked = 0;
    endpoint.chain.minedCount = async (account, block, signal) => {
      if (block !== 'latest' && asked++ < 3) throw new ChainError('RPC_ERROR', 'missing trie node');
      return minedCount(account, block, signal);
    };
    endpoint.dropPool();
    endpoint.useNonce(endpoint.taken[0]!.clone());
    endpoint.mining = true;
    expect((await transactions.wait(hash, forever)).transactionHash).toBe(hash);
  });
});

describe('waiting', () => {
  test('ends with its signal, while others continue', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    const leaving = new AbortController();
    const [left, stays] = [transactions.wait(hash, leaving.signal), transactions.wait(hash, forever)];
    leaving.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    endpoint.mining = true;
    expect((await stays).transactionHash).toBe(hash);
  });

  test('ends when the node stops, and resumes in the next process', async () => {
    const before = setUp();
    before.endpoint.mining = false;
    const hash = await before.send();
    const waiting = expect(before.transactions.wait(hash, forever)).rejects.toThrow(code('MONITOR_CLOSED'));
    await before.transactions.stop();
    await waiting;
    await expect(before.transactions.wait(hash, forever)).rejects.toThrow(code('MONITOR_CLOSED'));
    before.endpoint.mining = true;
    const after = setUp(before.disk, before.endpoint);
    expect((await after.transactions.wait(hash, forever)).status).toBe('success');
  });

  test('for the turn to send ends with its signal, and the turn passes to the next one', async () => {
    const { endpoint, transactions, send } = setUp();
    const away = Promise.withResolvers<undefined>();
    const baseFee = endpoint.chain.baseFee.bind(endpoint.chain);
    endpoint.chain.baseFee = async (signal) => (await away.promise) ?? baseFee(signal);
    const first = send();
    const leaving = new AbortController();
    const second = transactions.send(request, leaving.signal);
    const third = send();
    leaving.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    away.resolve(undefined);
    await Promise.all([first, third]);
    expect(endpoint.taken.map(({ nonce }) => nonce)).toEqual([0, 1]);
  });

  test('that is given up while the endpoint does not answer leaves the transaction to the monitor', async () => {
    const { endpoint, transactions } = setUp();
    const leaving = new AbortController();
    endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_UNREACHABLE', 'away'));
    endpoint.onCall = (method) => {
      if (method === 'eth_sendRawTransaction') leaving.abort(new Error('enough'));
    };
    await expect(transactions.send(request, leaving.signal)).rejects.toThrow('enough');
    await until(() => endpoint.mined().length === 1);
  });
});

describe('cancelling', () => {
  test('sends an empty transaction to the node itself with the same nonce, and informs the waiting caller', async () => {
    const { endpoint, send, transactions, outcome } = setUp();
    endpoint.mining = false;
    const original = await send({ description: 'a gift', tipBoostPercent: 50 });
    const waiting = expect(transactions.wait(original, forever)).rejects.toThrow(
      new ChainError('TRANSACTION_CANCELLED', `transaction cancelled: ${original}`),
    );
    const replacement = await transactions.cancel(original, {}, forever);
    expect(transactions.pending().map(({ hash }) => hash)).toEqual([original, replacement]);
    expect(transactions.find(replacement)).toMatchObject({
      to: ACCOUNT,
      data: '0x',
      value: 0n,
      nonce: 0,
      gasLimit: 21_000n,
      gasTipCap: 1_650_000_000n,
      gasFeeCap: 1_500_000_014n + 1_650_000_000n,
      tipBoostPercent: 50,
      description: 'a gift (cancellation)',
    });
    endpoint.mining = true;
    await waiting;
    expect((await transactions.wait(replacement, forever)).status).toBe('success');
    expect([outcome(original)?.kind, transactions.pending()]).toEqual(['cancelled', []]);
  });

  test('comes too late for a transaction that is mined meanwhile', async () => {
    const { endpoint, send, transactions, outcome } = setUp();
    endpoint.mining = false;
    const original = await send();
    const replacement = await transactions.cancel(original, {}, forever);
    const raw = endpoint.taken[0]!;
    endpoint.dropPool();
    endpoint.useNonce(raw);
    await expect(transactions.wait(replacement, forever)).rejects.toThrow(code('TRANSACTION_CANCELLED'));
    expect(outcome(original)?.kind).toBe('mined');
  });

  test('is refused for a transaction that is mined, and leaves no record', async () => {
    const { disk, send, transactions } = setUp();
    const hash = await send();
    await transactions.wait(hash, forever);
    await expect(transactions.cancel(hash, {}, forever)).rejects.toThrow('nonce too low');
    expect([...disk.keys()].filter((key) => key.startsWith('stored/'))).toEqual([`stored/${hash}`]);
  });

  test('twice at the same fees reports the existing cancellation', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    const first = await transactions.cancel(hash, {}, forever);
    await expect(transactions.cancel(hash, {}, forever)).rejects.toThrow(code('ALREADY_IMPORTED'));
    expect(await transactions.cancel(hash, { gasPrice: 9_000_000_000n }, forever)).not.toBe(first);
  });

  test('accepts a gas price of its own, not below the base fee', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    await expect(transactions.cancel(hash, { gasPrice: 6n }, forever)).rejects.toThrow(
      'specified gas price 6 is below current base fee 7',
    );
    const replacement = await transactions.cancel(hash, { gasPrice: 5_000_000_007n }, forever);
    expect(transactions.find(replacement)).toMatchObject({
      gasTipCap: 5_500_000_000n,
      gasFeeCap: 10_500_000_007n,
    });
  });

  test('works for a transaction that the endpoint has lost', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    endpoint.dropPool();
    const replacement = await transactions.cancel(hash, {}, forever);
    endpoint.mining = true;
    await transactions.wait(replacement, forever);
    expect(endpoint.mined().map((transaction) => transaction.hash)).toEqual([replacement]);
  });
});

describe('sending again', () => {
  test('is refused while the endpoint has the transaction', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    await expect(transactions.resend(hash, forever)).rejects.toThrow(code('ALREADY_IMPORTED'));
  });

  test('restores the same bytes when the endpoint has lost them', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    await transactions.stop();
    endpoint.dropPool();
    endpoint.suggestedTip = '0xffffffffff';
    await transactions.resend(hash, forever);
    expect((await endpoint.chain.transactionState(hash)) !== 'unknown').toBe(true);
    expect(endpoint.taken.length).toBe(1);
  });

  test('ignores any other refusal, but not an endpoint that does not answer', async () => {
    const { endpoint, send, transactions } = setUp();
    const hash = await send();
    await transactions.wait(hash, forever);
    await transactions.resend(hash.toUpperCase().replace('0X', '0x'), forever);
    endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_UNREACHABLE', 'away'));
    await expect(transactions.resend(hash, forever)).rejects.toThrow(code('RPC_UNREACHABLE'));
  });
});

test('the outcomes of transactions are counted', async () => {
  const { endpoint, send, transactions, metrics } = setUp();
  const count = async (name: string) =>
    Number(new RegExp(`^svc_transactions_${name} (\\d+)$`, 'm').exec(await metrics.expose())?.[1]);
  endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_ERROR', 'refused'));
  await expect(send()).rejects.toThrow('refused');
  endpoint.mining = false;
  const hash = await send();
  expect([await count('sent'), await count('pending')]).toEqual([1, 1]);
  await transactions.cancel(hash, {}, forever);
  endpoint.dropPool();
  endpoint.mining = true;
  await until(() => transactions.pending().length === 0);
  endpoint.reverting = new ChainError('RPC_ERROR', 'reverted');
  await transactions.wait(await send(), forever);
  endpoint.reorganise(1);
  await until(() => transactions.pending().length > 0);
  await until(() => transactions.pending().length === 0);
  const names = ['sent', 'cancelled', 'mined', 'removed', 'pending'];
  expect(await Promise.all(names.map(count))).toEqual([3, 1, 1, 1, 0]);
  expect(await count('reverted')).toBeGreaterThanOrEqual(1);
  expect(await count('sent_again')).toBeGreaterThanOrEqual(2);
});
