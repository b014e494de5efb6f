import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { encodeWord, topicOf } from '../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { systemRandom } from '../../../formats/random.ts';
import { createLogger, silentLogger } from '../../../node/env/logger.ts';
import { MINED_WITHIN_MS } from '../../../node/onchain/transactions/patience.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import { SWAP_EVENTS } from '../../../node/swap/contracts.ts';
import { obtainChequebook } from '../../../node/swap/deployment.ts';
import { FACTORY, TOKEN } from '../onchain/addresses.ts';
import { memoryRecords, testKey } from '../p2p/memory-nodes.ts';
import { never } from '../protocols/exchange-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { SentTransactions } from './sent-transactions.ts';
import { SwapChain } from './swap-chain.ts';

const KEY = testKey(1);
const OWNER = createSigner(KEY).address;
const DEPOSIT = 500n;

class World {
  readonly chain = new SwapChain();
  readonly transactions = new SentTransactions();
  readonly clock = new ManualClock();
  readonly state: KeyValueStore = memoryRecords();

  constructor() {
    this.chain.tokens.set(toHex(OWNER), 10_000n);
    this.transactions.logs = ({ to, data }) => {
      if (to === FACTORY) {
        const book = this.chain.deploy(KEY, 0n);
        const topics = [topicOf(SWAP_EVENTS.SimpleSwapDeployed)];
        const address = `0x${toHex(encodeWord(book))}`;
        return [
          { address: FACTORY, topics, data: address, blockNumber: 1, transactionHash: '0x', logIndex: 0 },
        ];
      }
      // A transfer of tokens.
      this.chain.book(fromHex(data.slice(34, 74))).balance += BigInt(`0x${data.slice(74)}`);
      return [];
    };
  }

  start(
    { chequebook = '', initialDeposit = DEPOSIT } = {},
    chain: SwapChain = this.chain,
    log = silentLogger(),
  ): Promise<Uint8Array> {
    return obtainChequebook(
      { factory: FACTORY, token: TOKEN, chequebook, initialDeposit },
      {
        chain,
        transactions: this.transactions,
        state: this.state,
        signer: createSigner(KEY),
        clock: this.clock,
        random: systemRandom(),
        log,
      },
      never,
    );
  }

  /** As an operator restarts a node. */
  async restarted(): Promise<Uint8Array> {
    this.transactions.crash = undefined;
    this.transactions.sendError = undefined;
    this.transactions.fate = 'mined';
    return this.start();
  }

  async expectOne(book: Uint8Array): Promise<void> {
    expect(this.chain.books.size).toBe(1);
    expect(this.chain.book(book).balance).toBe(DEPOSIT);
    const sent = this.transactions.sent.length;
    expect(await this.start()).toEqual(book);
    expect(this.transactions.sent).toHaveLength(sent);
  }
}

test('the first start deploys a chequebook and funds it with the deposit, later ones use it', async () => {
  const world = new World();
  const book = await world.start();
  expect(world.transactions.sent.map(({ to, gasLimit, description }) => [to, gasLimit, description])).toEqual(
    [
      [FACTORY, 175_000n, 'chequebook deployment'],
      [TOKEN, 90_000n, 'initial chequebook deposit'],
    ],
  );
  expect(world.chain.book(book).issuer).toEqual(OWNER);
  await world.expectOne(book);
});

test('without a deposit it sends one transaction, and a deposit named later is not an initial one', async () => {
  const world = new World();
  const book = await world.start({ initialDeposit: 0n });
  await world.start({ initialDeposit: 7n });
  expect(world.transactions.sent).toHaveLength(1);
  expect(world.chain.book(book).balance).toBe(0n);
});

describe('a crash', () => {
  test.each(['before writing', 'before answering'] as const)(
    'of the deployment, %s it down',
    async (crash) => {
      const world = new World();
      world.transactions.crash = crash;
      await expect(world.start()).rejects.toThrow('crash');
      await world.expectOne(await world.restarted());
    },
  );

  test.each(['before writing', 'before answering'] as const)('of the deposit, %s it down', async (crash) => {
    const world = new World();
    world.transactions.crashAt = { to: TOKEN, crash };
    await expect(world.start()).rejects.toThrow('crash');
    world.transactions.crashAt = undefined;
    await world.expectOne(await world.restarted());
  });

  test('while the transaction is pending: the next start continues with it', async () => {
    const world = new World();
    world.transactions.fate = 'pending';
    world.transactions.crash = 'before answering';
    await expect(world.start()).rejects.toThrow('crash');
    world.transactions.decide(world.transactions.sent[0]!.hash, 'mined');
    await world.expectOne(await world.restarted());
    expect(world.transactions.sent).toHaveLength(2);
  });

  test.each(['reverted', 'cancelled'] as const)(
    'before a transaction that came to nothing: %s',
    async (fate) => {
      const world = new World();
      world.transactions.fate = fate;
      await expect(world.start()).rejects.toThrow(ChainError);
      await world.expectOne(await world.restarted());
      expect(world.transactions.sent).toHaveLength(3);
    },
  );
});

describe('a chequebook that the node is given', () => {
  test('is used as it is', async () => {
    const world = new World();
    const book = world.chain.deploy(KEY, 9n);
    expect(await world.start({ chequebook: `0x${toHex(book)}` })).toEqual(book);
    expect(world.transactions.sent).toEqual([]);
    expect(world.chain.book(book).balance).toBe(9n);
  });

  test('is refused when the factory does not know it', async () => {
    const world = new World();
    const book = world.chain.deploy(KEY, 9n);
    world.chain.strangers.add(toHex(book));
    await expect(world.start({ chequebook: `0x${toHex(book)}` })).rejects.toThrow(
      'chequebook not deployed by factory',
    );
  });

  test('is refused when it belongs to another owner', async () => {
    const world = new World();
    const book = world.chain.deploy(testKey(2), 9n);
    await expect(world.start({ chequebook: `0x${toHex(book)}` })).rejects.toThrow(
      'chequebook of another issuer',
    );
  });
});

test('a start behind a stuck transaction continues when that is mined, and meanwhile reports what it waits for', async () => {
  const world = new World();
  const { transactions, clock } = world;
  const lines: string[] = [];
  transactions.fate = 'pending';
  const log = createLogger(
    { verbosity: 'warn' },
    { destination: { write: (line) => void lines.push(line) } },
  );
  const started = world.start({}, world.chain, log);
  await clock.advance(2 * MINED_WITHIN_MS + 1_000);
  const { hash } = transactions.sent[0]!;
  expect(lines.filter((line) => line.includes(`"blocking":"${hash}"`))).toHaveLength(2);
  transactions.fate = 'mined';
  transactions.decide(hash, 'mined');
  await clock.advance(2_000);
  await world.expectOne(await started);
});

describe('a node without funds', () => {
  test('waits for them', async () => {
    const world = new World();
    world.chain.tokens.set(toHex(OWNER), DEPOSIT - 1n);
    const started = world.start();
    await world.clock.advance(60_000);
    expect(world.transactions.sent).toEqual([]);
    world.chain.tokens.set(toHex(OWNER), DEPOSIT);
    await world.clock.advance(20_000);
    await world.expectOne(await started);
  });

  test('gives up after a while and reports what is missing', async () => {
    const world = new World();
    world.chain.tokens.delete(toHex(OWNER));
    const started = world.start().catch((error: unknown) => (error as Error).message);
    await world.clock.advance(220_000);
    expect(await started).toMatch(
      /^insufficient token balance: account 0x[0-9a-f]{40} has 0 tokens .* needs 500 and gas$/,
    );
  });
});

describe('a chain that returns an invalid answer', () => {
  /** Replaces the `n`th answer, and counts all. */
  function spoiled(world: World, spoil: (n: number) => boolean, answer: string) {
    let asked = 0;
    const chain = world.chain.endpoint();
    const call = chain.call.bind(chain);
    const balance = chain.nativeBalance.bind(chain);
    const isSpoiled = () => spoil(asked++);
    chain.call = async (...given) => (isSpoiled() ? answer : call(...given));
    chain.nativeBalance = async (...given) => {
      if (isSpoiled()) throw new ChainError('RPC_ERROR', 'malformed answer: eth_getBalance: not a quantity');
      return balance(...given);
    };
    return { chain, asked: () => asked };
  }

  test.each(['0x', '0x01', `0x${'ff'.repeat(32)}`, 'nonsense'])(
    'once, %s, is asked again, whatever the question was',
    async (answer) => {
      const whole = new World();
      const honest = spoiled(whole, () => false, answer);
      await whole.start({}, honest.chain);
      expect(honest.asked()).toBeGreaterThan(3);
      for (let n = 0; n < honest.asked(); n++) {
        const world = new World();
        const started = world.start({}, spoiled(world, (asked) => asked === n, answer).chain);
        await world.clock.advance(30_000);
        await world.expectOne(await started);
      }
    },
  );

  test('a transaction that could not be prepared is still sent, once', async () => {
    const world = new World();
    const { transactions } = world;
    const send = transactions.send.bind(transactions);
    let failures = 0;
    transactions.send = async (...given: Parameters<typeof send>) => {
      if (failures++ % 2 === 0) throw new ChainError('RPC_ERROR', 'malformed answer: eth_gasPrice');
      return send(...given);
    };
    const started = world.start();
    await world.clock.advance(5_000);
    await world.expectOne(await started);
    expect(transactions.sent).toHaveLength(2);
  });

  test('and does so for ten seconds ends the start, naming the question', async () => {
    const world = new World();
    const started = world.start({}, spoiled(world, () => true, '0x').chain).catch((error: unknown) => error);
    await world.clock.advance(11_000);
    expect(await started).toMatchObject({
      code: 'RPC_ERROR',
      message: expect.stringMatching(
        /^the balance of the account: not learned .* within 10 s: malformed/,
      ) as string,
    });
  });
});
