import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../node/crypto/hex.ts';
import { createSigner } from '../../../node/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { selectorOf } from '../../../node/onchain/abi.ts';
import { ChainError, type ChainErrorCode } from '../../../node/onchain/ports.ts';
import { decodeRevert } from '../../../node/onchain/revert.ts';
import { createTransactions } from '../../../node/onchain/transactions.ts';
import { FakeEndpoint } from './fake-endpoint.ts';
import { CrashError, MemoryState } from './memory-state.ts';
import { VirtualClock } from './virtual-clock.ts';

const signer = createSigner(fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'));
const request = { to: `0x${'12'.repeat(20)}`, data: '0x01020304', description: 'a call' };
const forever = new AbortController().signal;

function setUp(disk = new Map<string, Uint8Array>(), endpoint = new FakeEndpoint()) {
  const state = new MemoryState(disk);
  const clock = new VirtualClock();
  const deps = { rpc: endpoint.chain, signer, clock, state, log: silentLogger() };
  const transactions = createTransactions({ pollIntervalMs: 1000 }, deps);
  const execute = (more = {}) => transactions.execute({ ...request, ...more }, forever);
  return { endpoint, disk, clock, state, transactions, execute };
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

  test('a call that can not be estimated is sent with the fallback limit', async () => {
    const { endpoint, execute } = setUp();
    endpoint.estimate = new ChainError('REVERTED', 'execution reverted');
    await execute();
    expect(endpoint.taken[0]?.gasLimit).toBe(500_000n);
  });

  test('a gas price below the base fee sends nothing', async () => {
    const { endpoint, execute, disk } = setUp();
    expect(await codeOf(execute({ gasPrice: 1n }))).toBe('GAS_PRICE_TOO_LOW');
    expect([endpoint.taken.length, disk.size]).toEqual([0, 0]);
  });

  test('an account that can not pay sends nothing', async () => {
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
    const { endpoint, disk, execute } = setUp();
    endpoint.fault(
      'eth_sendRawTransaction',
      ...Array.from({ length: 5 }, () => new ChainError('RPC_UNREACHABLE', 'connection refused')),
    );
    expect(await codeOf(execute())).toBe('RPC_UNREACHABLE');
    expect(pending(disk).length).toBe(1);
    const record: unknown = JSON.parse(Buffer.from(disk.get(String(stored(disk)[0])) ?? []).toString());
    expect(record).toMatchObject({
      to: request.to,
      nonce: 0,
      description: 'a call',
      created: 1_700_000_000,
      gasLimit: '133000',
      gasTipCap: '1250000000',
      gasFeeCap: '1250000014',
      value: '0',
      raw: expect.stringMatching(/^0x02f8/) as string,
    });
  });

  test('a transaction that can not be written down is not sent', async () => {
    const { endpoint, execute, state } = setUp();
    state.writesLeft = 0;
    await expect(execute()).rejects.toThrow(CrashError);
    expect(endpoint.taken).toEqual([]);
  });

  test('a mined transaction stays listed but is no longer pending', async () => {
    const { disk, execute, endpoint } = setUp();
    await execute();
    expect([pending(disk), stored(disk)]).toEqual([[], [`stored/${endpoint.taken[0]?.hash}`]]);
  });

  test('a refused transaction leaves no record', async () => {
    const { disk, execute, endpoint } = setUp();
    endpoint.fault('eth_sendRawTransaction', new ChainError('RPC_ERROR', 'invalid chain id'));
    await codeOf(execute());
    expect(disk.size).toBe(0);
  });

  test('after a restart the nonce follows own transactions that still wait', async () => {
    const before = setUp();
    const leaving = new AbortController();
    before.endpoint.mining = false;
    before.endpoint.onTaken = () => leaving.abort(new Error('process ends'));
    await expect(before.transactions.execute(request, leaving.signal)).rejects.toThrow('process ends');
    before.endpoint.mining = true;
    const after = setUp(before.disk, before.endpoint);
    // This endpoint does not count what waits in its pool.
    const { chain } = before.endpoint;
    const deps = {
      rpc: { ...chain, transactionCount: () => Promise.resolve(0) },
      signer,
      log: silentLogger(),
    };
    const next = createTransactions(
      { pollIntervalMs: 1 },
      { ...deps, clock: after.clock, state: after.state },
    );
    await next.execute(request, forever);
    expect(before.endpoint.taken.map(({ nonce }) => nonce)).toEqual([0, 1]);
  });

  test('a pending record that the endpoint does not know is forgotten', async () => {
    const disk = new Map([['pending/0xdead', new Uint8Array(32).fill(9)]]);
    const { endpoint, execute } = setUp(disk);
    await execute();
    expect(endpoint.taken.map(({ nonce }) => nonce)).toEqual([0]);
    expect(pending(disk)).toEqual([]);
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

  test('an endpoint that is away while a receipt is awaited only delays it', async () => {
    const { endpoint, execute } = setUp();
    endpoint.fault('eth_getTransactionReceipt', away(), away(), new ChainError('RPC_ERROR', 'malformed'));
    expect((await execute()).status).toBe('success');
  });

  test('an endpoint that is away before anything is sent fails the call', async () => {
    const { endpoint, execute } = setUp();
    endpoint.fault('eth_getTransactionCount', away());
    expect(await codeOf(execute())).toBe('RPC_UNREACHABLE');
  });

  test('a transaction that the endpoint no longer knows is cancelled after twelve blocks', async () => {
    const { endpoint, disk, execute } = setUp();
    endpoint.onTaken = (hash) => endpoint.lost.add(hash);
    expect(await codeOf(execute())).toBe('TRANSACTION_CANCELLED');
    expect(endpoint.height).toBeGreaterThanOrEqual(32);
    expect(stored(disk).length).toBe(1);
  });
});

describe('reverted transactions', () => {
  test('the reason comes from the same call made again', async () => {
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
