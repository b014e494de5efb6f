/**
 * A step is the moment before or after a write or a call to the endpoint; from the chosen one on the process does nothing.
 * Disk and chain are left.
 */
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { fromHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import type { SendingChain } from '../../../../node/onchain/chain.ts';
import type { Receipt } from '../../../../node/onchain/ports.ts';
import {
  createTransactions,
  type TransactionService,
} from '../../../../node/onchain/transactions/transactions.ts';
import type { KeyValueStore } from '../../../../node/store/ports.ts';
import { FakeEndpoint } from '../fake-endpoint.ts';
import { CrashError, MemoryState } from '../memory-state.ts';
import { VirtualClock } from '../virtual-clock.ts';

const signer = createSigner(fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'));
const forever = new AbortController().signal;
const OPERATIONS = ['0x01', '0x02', '0x03'];

class Life {
  /** Rejects at the last step. */
  readonly end = Promise.withResolvers<never>();
  readonly #last: number;
  #taken = 0;

  constructor(last: number) {
    this.#last = last;
    this.end.promise.catch((error: unknown) => expect(error).toBeInstanceOf(CrashError));
  }

  step(): void {
    if (++this.#taken < this.#last) return;
    const error = new CrashError(`the process died at step ${this.#last}`);
    this.end.reject(error);
    throw error;
  }

  async around<T>(work: () => Promise<T>): Promise<T> {
    this.step();
    const result = await work();
    this.step();
    return result;
  }
}

interface World {
  readonly disk: Map<string, Uint8Array>;
  readonly endpoint: FakeEndpoint;
}

interface Process {
  readonly transactions: TransactionService;
  readonly state: KeyValueStore;
}

function mortal({ disk, endpoint }: World, life: Life): Process {
  const kept = new MemoryState(disk);
  const state: KeyValueStore = {
    get: (key) => kept.get(key),
    entries: (prefix) => kept.entries(prefix),
    put: (key, value) => life.around(() => kept.put(key, value)),
    remove: (key) => life.around(() => kept.remove(key)),
    batch: (changes) => life.around(() => kept.batch(changes)),
  };
  const calls = Object.entries(endpoint.chain).map(([name, call]) => [
    name,
    (...args: never[]) => life.around(() => (call as (...given: never[]) => Promise<unknown>)(...args)),
  ]);
  const rpc = Object.fromEntries(calls) as unknown as SendingChain;
  const transactions = createTransactions(
    { pollIntervalMs: 1000, minimumTip: 0n, gasLimitFallback: 500_000n },
    { rpc, signer, clock: new VirtualClock(), state, log: silentLogger() },
  );
  return { transactions, state };
}

/** It must not happen twice: its hash is noted first, and looked for after a restart. */
async function pay({ transactions, state }: Process, data: string): Promise<Receipt> {
  const note = `note/${data}`;
  const noted = state.get(note);
  const before = noted === undefined ? undefined : Buffer.from(noted).toString();
  const known = before !== undefined && transactions.find(before) !== undefined;
  const request = {
    to: `0x${'12'.repeat(20)}`,
    data,
    description: data,
    beforeSend: (hash: string) => state.put(note, Buffer.from(hash)),
  };
  return transactions.wait(known ? before : await transactions.send(request, forever), forever);
}

/** @returns whether it got to its end */
async function live(
  world: World,
  life: Life,
  work: (process: Process) => Promise<unknown>,
): Promise<boolean> {
  const process = mortal(world, life);
  process.transactions.start();
  try {
    await Promise.race([work(process), life.end.promise]);
    return true;
  } catch (error) {
    if (!(error instanceof CrashError)) throw error;
    return false;
  } finally {
    await process.transactions.stop();
  }
}

const payAll = (process: Process) => Promise.all(OPERATIONS.map((data) => pay(process, data)));

function expectOnceEach({ endpoint, disk }: World): void {
  const mined = endpoint.mined();
  expect(mined.map(({ data }) => data).sort()).toEqual(OPERATIONS);
  expect(mined.map(({ nonce }) => nonce)).toEqual([0, 1, 2]);
  expect(endpoint.taken.length).toBe(new Set(endpoint.taken.map(({ nonce }) => nonce)).size);
  expect([...disk.keys()].filter((key) => key.startsWith('pending/'))).toEqual([]);
  expect([...disk.keys()].filter((key) => key.startsWith('stored/')).sort()).toEqual(
    mined.map(({ hash }) => `stored/${hash}`).sort(),
  );
}

const newWorld = (): World => ({ disk: new Map(), endpoint: new FakeEndpoint() });
const immortal = () => new Life(Number.POSITIVE_INFINITY);

describe('three operations at once', () => {
  test('happen once each, whatever the step at which the process dies', async () => {
    let finished = false;
    let last = 1;
    for (; !finished; last++) {
      const world = newWorld();
      finished = await live(world, new Life(last), payAll);
      await live(world, immortal(), payAll);
      expectOnceEach(world);
    }
    expect(last).toBeGreaterThan(60);
  });

  const steps = fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 2, maxLength: 5 });
  property.prop([steps], { numRuns: 60 })('happen once each when it dies again and again', async (lives) => {
    const world = newWorld();
    for (const last of lives) await live(world, new Life(last), payAll);
    await live(world, immortal(), payAll);
    expectOnceEach(world);
  });
});

test('stored transactions are sent after a restart without a new request', async () => {
  let sent = 0;
  for (let last = 1; last < 60; last++) {
    const world = newWorld();
    await live(world, new Life(last), payAll);
    const stored = [...world.disk.keys()].filter((key) => key.startsWith('stored/')).length;
    await live(world, immortal(), async ({ transactions }) => {
      while (transactions.pending().length > 0) await new Promise(setImmediate);
    });
    expect(world.endpoint.mined().length).toBe(stored);
    sent += stored;
  }
  expect(sent).toBeGreaterThan(0);
});

test('either a transaction or its cancellation is mined, whatever the step at which the process dies', async () => {
  const outcomes = new Set<string>();
  for (let last = 1, finished = false; !finished; last++) {
    const world = newWorld();
    world.endpoint.mining = false;
    finished = await live(world, new Life(last), async ({ transactions }) => {
      const request = { to: `0x${'12'.repeat(20)}`, data: '0x01', description: 'original' };
      await transactions.cancel(await transactions.send(request, forever), {}, forever);
    });
    world.endpoint.mining = true;
    await live(world, immortal(), async (process) => {
      while (process.transactions.pending().length > 0) await new Promise(setImmediate);
      await pay(process, '0x02');
    });
    const mined = world.endpoint.mined();
    expect(mined.map(({ nonce }) => nonce)).toEqual(mined.map((_, n) => n));
    expect(mined.at(-1)?.data).toBe('0x02');
    outcomes.add(mined.length === 1 ? 'never sent' : mined[0]?.data === '0x' ? 'cancelled' : 'sent');
  }
  expect([...outcomes].sort()).toEqual(['cancelled', 'never sent', 'sent']);
});
