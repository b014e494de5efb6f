import { Transaction } from 'ethers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { selectorOf } from '../../../../formats/ethereum/abi.ts';
import { ChainError, type ChainErrorCode } from '../../../../formats/ethereum/chain-error.ts';
import { decodeRevert } from '../../../../formats/ethereum/revert.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { withDebugGas } from '../../../../node/onchain/transactions/debug-mode.ts';
import { createTransactions } from '../../../../node/onchain/transactions/transactions.ts';
import { FakeEndpoint } from '../fake-endpoint.ts';
import { CrashError, MemoryState } from '../memory-state.ts';
import { VirtualClock } from '../virtual-clock.ts';

const signer = createSigner(fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'));
const request = { to: `0x${'12'.repeat(20)}`, data: '0x01020304', description: 'a call' };
const forever = new AbortController().signal;

function setUp(disk = new Map<string, Uint8Array>(), endpoint = new FakeEndpoint()) {
  const state = new MemoryState(disk);
  const clock = new VirtualClock();
  const deps = { rpc: endpoint.chain, signer, clock, state, log: silentLogger() };
  const options = { pollIntervalMs: 1000, minimumTip: 0n, gasLimitFallback: 500_000n };
  const transactions = createTransactions(options, deps);
  onTestFinished(() => transactions.stop());
  const execute = (more = {}) => transactions.execute({ ...request, ...more }, forever);
  const send = (more = {}) => transactions.send({ ...request, ...more }, forever);
  return { endpoint, disk, clock, state, transactions, execute, send };
}

const codeOf = (promise: Promise<unknown>): Promise<ChainErrorCode | undefined> =>
  promise.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ChainError) return error.code;
      throw error;
    },
  );

const pending = (disk: Map<string, Uint8Array>) =>
  [...disk.keys()].filter((key) => key.startsWith('pending/'));
const stored = (disk: Map<string, Uint8Array>) => [...disk.keys()].filter((key) => key.startsWith('stored/'));

describe('sending', () => {
  test('a transaction is sent with the fees of the rules and its receipt is returned', async () => {
    const { endpoint, execute } = setUp();
    const receipt = await execute();
    expect(receipt).toMatchObject({ status: 'success', transactionHash: endpoint.taken[0]?.hash });
    expect(endpoint.taken[0]?.toJSON()).toMatchObject({
      type: 2,
      nonce: 0,
      chainId: '31337',
      gasLimit: '133000',
      maxPriorityFeePerGas: '1250000000',
      maxFeePerGas: '1250000014',
      data: request.data,
    });
  });

  test('concurrent transactions get distinct consecutive nonces', async () => {
    const { endpoint, execute } = setUp();
    await Promise.all(Array.from({ length: 8 }, () => execute()));
    expect(endpoint.taken.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('a given gas price and limit are used', async () => {
    const { endpoint, execute } = setUp();
    await execute({ gasPrice: 107n, gasLimit: 90_000n, value: 5n });
    expect(endpoint.taken[0]?.toJSON()).toMatchObject({
      maxPriorityFeePerGas: '100',
      maxFeePerGas: '107',
      gasLimit: '90000',
      value: '5',
    });
    expect(endpoint.calls).not.toContain('eth_estimateGas');
    expect(endpoint.calls).not.toContain('eth_maxPriorityFeePerGas');
  });

  test('a call that cannot be estimated is sent with the fallback limit', async () => {
    const { endpoint, execute } = setUp();
    endpoint.estimate = new ChainError('REVERTED', 'execution reverted');
    await execute();
    expect(endpoint.taken[0]?.gasLimit).toBe(500_000n);
  });

  test('in debug mode nothing is estimated, and a higher limit counts', async () => {
    const { endpoint, transactions } = setUp();
    const debugging = withDebugGas(transactions);
    await debugging.execute(request, forever);
    await debugging.send({ ...request, gasLimit: 1_000_001n }, forever);
    await debugging.send({ ...request, gasLimit: 999_999n }, forever);
    expect(endpoint.taken.map(({ gasLimit }) => gasLimit)).toEqual([1_000_000n, 1_000_001n, 1_000_000n]);
    expect(endpoint.calls).not.toContain('eth_estimateGas');
  });

  test('an operation can state a minimum amount of gas', async () => {
    const { endpoint, execute } = setUp();
    await execute({ minimumGasLimit: 250_000n });
    expect(endpoint.taken[0]?.gasLimit).toBe(250_000n);
  });

  test('a gas price below the base fee sends nothing', async () => {
    const { endpoint, execute, disk } = setUp();
    expect(await codeOf(execute({ gasPrice: 1n }))).toBe('GAS_PRICE_TOO_LOW');
    expect([endpoint.taken.length, disk.size]).toEqual([0, 0]);
  });

  test('an account that cannot pay sends nothing', async () => {
    const { endpoint, execute, disk } = setUp();
    endpoint.balance = '0x1';
    expect(await codeOf(execute())).toBe('INSUFFICIENT_NATIVE');
    expect([endpoint.taken.length, disk.size]).toEqual([0, 0]);
  });

  test('after a failure the next transaction takes the same nonce', async () => {
    const { endpoint, execute } = setUp();
    endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_ERROR', 'intrinsic gas too low'));
    expect(await codeOf(execute())).toBe('RPC_ERROR');
    await execute();
    expect(endpoint.taken.map(({ nonce }) => nonce)).toEqual([0]);
  });
});

describe('records', () => {
  test('a transaction is on disk with its raw bytes before it is sent', async () => {
    const { endpoint, disk, send } = setUp();
    let kept: string[] = [];
    endpoint.onTaken = () => {
      kept = [...pending(disk), ...stored(disk)];
    };
    const hash = await send();
    expect(kept).toEqual([`pending/${hash}`, `stored/${hash}`]);
    expect(JSON.parse(Buffer.from(disk.get(`stored/${hash}`) ?? []).toString())).toMatchObject({
      to: request.to,
      nonce: 0,
      description: 'a call',
      created: 1_700_000_000,
      gasLimit: '133000',
      gasTipCap: '1250000000',
      gasFeeCap: '1250000014',
      value: '0',
      raw: endpoint.taken[0]?.serialized,
    });
  });

  test('a transaction that cannot be stored is not sent', async () => {
    const { endpoint, execute, state } = setUp();
    state.writesLeft = 0;
    await expect(execute()).rejects.toThrow(CrashError);
    expect(endpoint.taken).toEqual([]);
  });

  test('an operation learns the hash before anything is written or sent', async () => {
    const { endpoint, disk, transactions, send } = setUp();
    let noted = '';
    const beforeSend = async (hash: string) => {
      noted = hash;
      expect([disk.size, endpoint.taken.length, transactions.find(hash)]).toEqual([0, 0, undefined]);
    };
    expect(await send({ beforeSend })).toBe(noted);
  });

  test('a mined transaction stays known with its receipt but is no longer pending', async () => {
    const { transactions, execute } = setUp();
    const receipt = await execute();
    expect(transactions.pending()).toEqual([]);
    expect(transactions.find(receipt.transactionHash)?.outcome).toEqual({ kind: 'mined', receipt });
    expect(
      await transactions.wait(receipt.transactionHash.toUpperCase().replace('0X', '0x'), forever),
    ).toEqual(receipt);
  });

  test('a refused transaction leaves no record', async () => {
    const { disk, execute, endpoint } = setUp();
    endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_ERROR', 'invalid chain id'));
    await codeOf(execute());
    expect(disk.size).toBe(0);
  });

  test('pending transactions are listed by their nonces with all that is known of them', async () => {
    const { endpoint, transactions, send } = setUp();
    endpoint.mining = false;
    const first = await send({ description: 'first', value: 3n, tipBoostPercent: 50 });
    const second = await send({ description: 'second' });
    expect(transactions.pending().map(({ hash }) => hash)).toEqual([first, second]);
    expect(transactions.find(first)).toMatchObject({
      hash: first,
      to: request.to,
      data: request.data,
      value: 3n,
      nonce: 0,
      gasLimit: 133_000n,
      gasTipCap: 1_500_000_000n,
      gasFeeCap: 1_500_000_014n,
      tipBoostPercent: 50,
      created: 1_700_000_000,
      description: 'first',
      outcome: undefined,
    });
  });

  test('a transaction not sent by this node is unknown', async () => {
    const { transactions } = setUp();
    const hash = `0x${'ab'.repeat(32)}`;
    expect(transactions.find(hash)).toBeUndefined();
    expect(await codeOf(transactions.wait(hash, forever))).toBe('TRANSACTION_UNKNOWN');
    expect(await codeOf(transactions.resend(hash, forever))).toBe('TRANSACTION_UNKNOWN');
    expect(await codeOf(transactions.cancel(hash, {}, forever))).toBe('TRANSACTION_UNKNOWN');
  });
});

describe('the nonce', () => {
  test('follows own transactions that the endpoint does not count', async () => {
    const { endpoint, send } = setUp();
    endpoint.mining = false;
    await send();
    endpoint.dropPool();
    await send();
    expect(endpoint.taken.map(({ nonce }) => nonce)).toEqual([0, 1]);
  });

  test('follows transactions that a lagging endpoint does not know to be mined', async () => {
    const { endpoint, execute, transactions, send } = setUp();
    await execute();
    endpoint.reorganise(5);
    endpoint.mining = false;
    await send();
    expect(transactions.pending().map(({ nonce }) => nonce)).toContain(1);
  });

  test('fills a gap below a transaction that waits for it', async () => {
    const { endpoint, execute, send, transactions } = setUp();
    const { chain } = endpoint;
    chain.transactionCount = async () => 2;
    const early = await send();
    chain.transactionCount = async () => 0;
    const filled = [await send(), await send(), await send()];
    await Promise.all([early, ...filled].map((hash) => transactions.wait(hash, forever)));
    expect(endpoint.mined().map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3]);
    expect((await execute()).status).toBe('success');
  });

  test('a mark without a transaction reserves no nonce', async () => {
    const disk = new Map([['pending/0xdead', new Uint8Array(32)]]);
    const { endpoint, execute } = setUp(disk);
    await execute();
    expect(endpoint.taken.map(({ nonce }) => nonce)).toEqual([0]);
  });
});

describe('an endpoint in trouble', () => {
  const away = () => new ChainError('RPC_UNREACHABLE', 'connection refused');

  test('a transaction whose acceptance was not heard is sent again and counted once', async () => {
    const { endpoint, execute } = setUp();
    endpoint.fault('eth_sendRawTransaction', 'lost answer');
    expect((await execute()).status).toBe('success');
    expect(endpoint.taken.length).toBe(1);
  });

  test('a transaction that no endpoint took is sent as soon as one answers', async () => {
    const { endpoint, execute } = setUp();
    endpoint.fault('eth_sendRawTransaction', away(), away(), away());
    expect((await execute()).status).toBe('success');
    expect(endpoint.calls.filter((method) => method === 'eth_sendRawTransaction').length).toBe(4);
  });

  test('a refusal of bytes that the endpoint may have leaves the transaction in place', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_ERROR', 'malformed answer: not JSON'));
    endpoint.fault('eth_getTransactionByHash', away());
    const hash = await send();
    expect((await transactions.wait(hash, forever)).transactionHash).toBe(hash);
  });

  test('an endpoint that is unavailable while a receipt is awaited only delays it', async () => {
    const { endpoint, execute } = setUp();
    endpoint.fault('eth_getTransactionReceipt', away(), away(), new ChainError('RPC_ERROR', 'malformed'));
    expect((await execute()).status).toBe('success');
  });

  test('an endpoint that is unavailable before anything is sent fails the call', async () => {
    const { endpoint, execute, disk } = setUp();
    endpoint.fault('eth_getTransactionCount', away());
    expect(await codeOf(execute())).toBe('RPC_UNREACHABLE');
    expect(disk.size).toBe(0);
  });

  test('a transaction that the endpoint has lost is sent again, the same bytes', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    endpoint.dropPool();
    endpoint.mining = true;
    expect((await transactions.wait(hash, forever)).transactionHash).toBe(hash);
    expect(endpoint.taken.length).toBe(1);
  });

  test('a refusal of the bytes sent again is not final', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    endpoint.dropPool();
    endpoint.mining = true;
    endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_ERROR', 'insufficient funds'));
    expect((await transactions.wait(hash, forever)).transactionHash).toBe(hash);
  });

  test('a transaction whose nonce was used by another sender is cancelled twelve blocks later', async () => {
    const { endpoint, send, transactions } = setUp();
    endpoint.mining = false;
    const hash = await send();
    const waiting = codeOf(transactions.wait(hash, forever));
    endpoint.dropPool();
    const usedAt = endpoint.height + 1;
    endpoint.useNonce(Transaction.from({ ...request, data: '0x', nonce: 0, chainId: 31_337 }));
    expect(await waiting).toBe('TRANSACTION_CANCELLED');
    expect(endpoint.height).toBeGreaterThanOrEqual(usedAt + 12);
    expect(transactions.pending()).toEqual([]);
    expect(transactions.find(hash)?.outcome?.kind).toBe('cancelled');
    expect(await codeOf(transactions.wait(hash, forever))).toBe('TRANSACTION_CANCELLED');
  });
});

describe('reverted transactions', () => {
  test('the reason comes from repeating the same call', async () => {
    const { endpoint, execute, disk } = setUp();
    const data = selectorOf('NotBatchOwner()');
    const revert = decodeRevert(data, '');
    endpoint.reverting = new ChainError('REVERTED', `execution reverted: ${revert.reason}`, { revert });
    await expect(execute()).rejects.toMatchObject({
      code: 'REVERTED',
      message: 'transaction reverted: NotBatchOwner()',
      revert: { reason: 'NotBatchOwner()', data },
    });
    expect(pending(disk)).toEqual([]);
  });

  test('one that runs with the gas that it needs had a limit that was too low', async () => {
    const { endpoint, execute } = setUp();
    endpoint.countsGas = true;
    await expect(execute({ gasLimit: 99_999n })).rejects.toMatchObject({
      code: 'GAS_LIMIT_TOO_LOW',
      message: 'gas limit of 99999, the transaction needs 100000',
    });
    expect(await execute({ gasLimit: 100_000n })).toMatchObject({ status: 'success' });
  });

  test('without a reason it is still a revert', async () => {
    const { endpoint, execute } = setUp();
    endpoint.reverting = new ChainError('RPC_ERROR', 'eth_call: busy');
    await expect(execute()).rejects.toMatchObject({ code: 'REVERTED', message: 'transaction reverted' });
  });
});

test('the sender of every transaction is the signer', async () => {
  const { endpoint, execute } = setUp();
  await execute();
  expect(endpoint.taken[0]?.from?.toLowerCase()).toBe(`0x${toHex(signer.address)}`);
});
