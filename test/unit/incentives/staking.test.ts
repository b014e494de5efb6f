import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { encodeWord, readWords, selectorOf } from '../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { createLogger, silentLogger } from '../../../node/env/logger.ts';
import { createStaking } from '../../../node/incentives/staking.ts';
import { encodeManageStake } from '../../../node/onchain/incentive-contracts.ts';
import { type Receipt, type SentTransaction } from '../../../node/onchain/ports.ts';
import { MINED_WITHIN_MS } from '../../../node/onchain/transactions/patience.ts';
import { TOKEN } from '../onchain/addresses.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { ACCOUNT, OVERLAY, refusal } from './fake-game.ts';

const REGISTRY = `0x${'5e'.repeat(20)}`;
const OTHER_OVERLAY = new Uint8Array(32).fill(2);
const NONCE = new Uint8Array(32).fill(3);
const TEN_TOKENS = 10n ** 17n;
const RETRY_MS = 5000;
const signal = new AbortController().signal;

/** `contracts.md` 6, as far as a node sees it. */
class FakeRegistry {
  stake: { overlay: Uint8Array; amount: bigint; lastUpdated: bigint; height: number } = {
    overlay: new Uint8Array(32),
    amount: 0n,
    lastUpdated: 0n,
    height: 0,
  };
  tokens = 10n * TEN_TOKENS;
  allowance = 0n;
  surplus = 0n;
  paused = false;
  head = 100n;
  failure: ChainError | undefined;
  readonly sent: { description: string; gasPrice?: bigint; gasLimit?: bigint }[] = [];

  /** Mined, and gone, once they are waited for. */
  underway: SentTransaction[] = [];
  stuck = false;
  pending = () => this.underway;
  wait = (_hash: string, until: AbortSignal) => {
    if (!this.stuck) return this.execute(this.underway.shift()!);
    const { promise, reject } = Promise.withResolvers<Receipt>();
    until.addEventListener('abort', () => reject(until.reason as Error));
    return promise;
  };
  blockNumber = () => Promise.resolve(Number(this.head));

  call({ to, data, from }: { to: string; data: string; from?: string }): Promise<string> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const selector = data.slice(0, 10);
    const words = (...values: (bigint | number | boolean | Uint8Array)[]) =>
      Promise.resolve(`0x${values.map((value) => toHex(encodeWord(value))).join('')}`);
    const { overlay, amount, lastUpdated, height } = this.stake;
    if (to === TOKEN && selector === selectorOf('balanceOf(address)')) return words(this.tokens);
    switch (selector) {
      case selectorOf('stakes(address)'):
        return words(overlay, amount / 24_000n, amount, lastUpdated, height);
      case selectorOf('withdrawableStake()'):
        return words(from === `0x${toHex(ACCOUNT)}` ? this.surplus : 0n);
      case selectorOf('paused()'):
        return words(this.paused);
      case selectorOf('manageStake(bytes32,uint256,uint8)'):
        if (this.paused) return Promise.reject(refusal('Pausable: paused'));
        return lastUpdated < this.head ? Promise.resolve('0x') : Promise.reject(refusal('Frozen()'));
      default:
        throw new Error(`no function ${selector}`);
    }
  }

  execute = ({ to, data, ...rest }: { to: string; data: string; description: string }): Promise<Receipt> => {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.sent.push(rest);
    const words = readWords(`0x${data.slice(10)}`, 'call');
    if (to === TOKEN) {
      expect(toHex(words.address(0))).toBe(REGISTRY.slice(2));
      this.allowance = words.uint(1);
    } else if (data.startsWith(selectorOf('manageStake(bytes32,uint256,uint8)'))) {
      expect(words.bytes32(0)).toEqual(NONCE);
      const amount = words.uint(1);
      if (amount > this.allowance) throw refusal('ERC20: insufficient allowance');
      this.allowance -= amount;
      this.stake = {
        overlay: OVERLAY,
        amount: this.stake.amount + amount,
        lastUpdated: this.head,
        height: words.small(2),
      };
    } else if (data === selectorOf('withdrawFromStake()')) {
      this.stake.amount -= this.surplus;
      this.surplus = 0n;
    } else if (data === selectorOf('migrateStake()')) {
      this.stake.amount = 0n;
    }
    const transactionHash = `0x${'0'.repeat(63)}${this.sent.length}`;
    return Promise.resolve({ transactionHash, status: 'success', blockNumber: 1, gasUsed: 1n, logs: [] });
  };
}

function bench({ height = 0, log = silentLogger() } = {}) {
  const registry = new FakeRegistry();
  const clock = new ManualClock();
  const staking = createStaking(
    { registry: REGISTRY, token: TOKEN, overlay: OVERLAY, nonce: NONCE, height, retryMs: RETRY_MS },
    { chain: registry, transactions: registry, signer: { address: ACCOUNT }, clock, log },
  );
  return { registry, staking, clock };
}

function earlier(): SentTransaction {
  const data = encodeManageStake(NONCE, 0n, 0);
  const fees = { gasLimit: 0n, gasTipCap: 0n, gasFeeCap: 0n, tipBoostPercent: 25 };
  const about = { nonce: 0, value: 0n, created: 0, description: 'Deposit Stake', outcome: undefined };
  return { hash: hashOf(9), to: REGISTRY, data, ...fees, ...about };
}

const hashOf = (number: number) => `0x${'0'.repeat(63)}${number}`;

describe('a deposit', () => {
  test('waits for the stake of an earlier deposit to be mined, and builds on it', async () => {
    const { registry, staking, clock } = bench();
    registry.underway = [earlier()];
    registry.stuck = true;
    const refused = expect(staking.deposit(TEN_TOKENS, {}, signal)).rejects.toMatchObject({
      code: 'NOT_MINED',
      blocking: hashOf(9),
    });
    await clock.advance(MINED_WITHIN_MS);
    await refused;
    expect(registry.sent).toEqual([]);
    registry.stuck = false;
    await staking.deposit(TEN_TOKENS, {}, signal);
    expect(registry.sent).toHaveLength(3);
  });

  test('approves exactly what it stakes, and gives the hash of the second transaction', async () => {
    const { registry, staking } = bench();
    const gas = { gasPrice: 5n, gasLimit: 6n };
    expect(await staking.deposit(TEN_TOKENS, gas, signal)).toBe(hashOf(2));
    expect(registry.sent).toEqual([
      { description: 'Approve tokens for stake deposit operations', minimumGasLimit: 100_000n, ...gas },
      { description: 'Deposit Stake', ...gas },
    ]);
    expect(await staking.staked(signal)).toBe(TEN_TOKENS);
    expect(registry.allowance).toBe(0n);
  });

  test('adds any amount to a stake', async () => {
    const { staking } = bench();
    await staking.deposit(TEN_TOKENS, {}, signal);
    await staking.deposit(1n, {}, signal);
    expect(await staking.staked(signal)).toBe(TEN_TOKENS + 1n);
  });

  test.each([
    [0, TEN_TOKENS - 1n],
    [0, -TEN_TOKENS],
    [1, TEN_TOKENS],
    [1, 2n * TEN_TOKENS - 1n],
  ])(
    'for %i doublings of the reserve is refused when it is %i, and costs nothing',
    async (height, amount) => {
      const { registry, staking } = bench({ height });
      await expect(staking.deposit(amount, {}, signal)).rejects.toMatchObject({
        code: 'INSUFFICIENT_STAKE_AMOUNT',
      });
      expect(registry.sent).toEqual([]);
    },
  );

  test('for a reserve of twice the size takes the rest of twice the amount', async () => {
    const { registry, staking } = bench({ height: 1 });
    registry.stake = { overlay: OVERLAY, amount: TEN_TOKENS, lastUpdated: 1n, height: 0 };
    await staking.deposit(TEN_TOKENS, {}, signal);
    expect(registry.stake).toMatchObject({ amount: 2n * TEN_TOKENS, height: 1 });
  });

  test('into a frozen stake is refused, and costs nothing', async () => {
    const { registry, staking } = bench();
    registry.stake = { overlay: OVERLAY, amount: TEN_TOKENS, lastUpdated: 500n, height: 0 };
    await expect(staking.deposit(1n, {}, signal)).rejects.toMatchObject({
      code: 'STAKE_FROZEN',
      message: 'stake is frozen until block 500',
    });
    expect(registry.sent).toEqual([]);
    registry.head = 501n;
    await staking.deposit(1n, {}, signal);
    expect(await staking.staked(signal)).toBe(TEN_TOKENS + 1n);
  });

  test('into a paused contract is refused, and costs nothing', async () => {
    const { registry, staking } = bench();
    registry.stake = { overlay: OVERLAY, amount: TEN_TOKENS, lastUpdated: 1n, height: 0 };
    registry.paused = true;
    await expect(staking.deposit(1n, {}, signal)).rejects.toMatchObject({ code: 'REVERTED' });
    expect(registry.sent).toEqual([]);
  });

  test('without the tokens is refused', async () => {
    const { registry, staking } = bench();
    registry.tokens = TEN_TOKENS - 1n;
    await expect(staking.deposit(TEN_TOKENS, {}, signal)).rejects.toMatchObject({
      code: 'INSUFFICIENT_TOKENS',
    });
    expect(registry.sent).toEqual([]);
  });
});

describe('a stake', () => {
  test('gives up its surplus, if it has any', async () => {
    const { registry, staking } = bench();
    await staking.deposit(TEN_TOKENS, {}, signal);
    await expect(staking.withdraw({}, signal)).rejects.toMatchObject({ code: 'NOTHING_TO_WITHDRAW' });
    registry.surplus = 16_000n;
    expect(await staking.withdrawable(signal)).toBe(16_000n);
    expect(await staking.withdraw({}, signal)).toBe(hashOf(3));
    expect(await staking.staked(signal)).toBe(TEN_TOKENS - 16_000n);
    expect(registry.sent.at(-1)?.description).toBe('Withdraw stake');
  });

  test('is returned whole by a paused contract, and by no other one', async () => {
    const { registry, staking } = bench();
    await staking.deposit(TEN_TOKENS, {}, signal);
    await expect(staking.migrate({}, signal)).rejects.toMatchObject({ code: 'NOT_PAUSED' });
    registry.paused = true;
    expect(await staking.migrate({}, signal)).toBe(hashOf(3));
    expect(await staking.staked(signal)).toBe(0n);
    expect(registry.sent.at(-1)?.description).toBe('Migrate stake');
    await expect(staking.migrate({}, signal)).rejects.toMatchObject({ code: 'NOTHING_TO_WITHDRAW' });
    expect(registry.sent).toHaveLength(3);
  });

  test('is frozen up to and including the block that the contract names', async () => {
    const { registry, staking } = bench();
    registry.stake = { overlay: OVERLAY, amount: TEN_TOKENS, lastUpdated: 500n, height: 0 };
    expect(await staking.isFrozen(500, signal)).toBe(true);
    expect(await staking.isFrozen(501, signal)).toBe(false);
  });
});

describe('at the start', () => {
  const staked = { overlay: OVERLAY, amount: 2n * TEN_TOKENS, lastUpdated: 1n, height: 0 };

  async function started(stake: Partial<typeof staked>, height = 0) {
    const made = bench({ height });
    made.registry.stake = { ...staked, ...stake };
    made.staking.start();
    await made.clock.settle();
    return made;
  }

  test.each([
    ['another overlay', { overlay: OTHER_OVERLAY }, 0],
    ['another height', {}, 1],
    ['a lower height', { height: 1 }, 0],
  ])('the contract is told of %s, without a deposit', async (_what, stake, height) => {
    const { registry } = await started(stake, height);
    expect(registry.sent).toHaveLength(1);
    expect(registry.stake).toEqual({ ...staked, lastUpdated: registry.head, height });
  });

  test.each([
    ['it knows everything', {}, 0],
    ['there is no stake', { overlay: OTHER_OVERLAY, amount: 0n }, 0],
    ['the stake is too small for the height', { amount: 2n * TEN_TOKENS - 1n }, 1],
  ])('the contract is told nothing when %s', async (_what, stake, height) => {
    expect((await started(stake, height)).registry.sent).toEqual([]);
  });

  test('a frozen stake is updated once it has thawed', async () => {
    const { registry, clock } = await started({ overlay: OTHER_OVERLAY, lastUpdated: 200n });
    await clock.advance(3 * RETRY_MS);
    expect(registry.sent).toEqual([]);
    registry.head = 201n;
    await clock.advance(RETRY_MS);
    expect(registry.stake.overlay).toEqual(OVERLAY);
    await clock.advance(10 * RETRY_MS);
    expect(registry.sent).toHaveLength(1);
  });

  test('the obstacle is reported once, and again when it changes', async () => {
    const lines: string[] = [];
    const log = createLogger(
      { verbosity: 'warn' },
      { destination: { write: (line) => void lines.push(line) } },
    );
    const { registry, staking, clock } = bench({ log });
    registry.stake = { ...staked, overlay: OTHER_OVERLAY, lastUpdated: 200n };
    staking.start();
    await clock.advance(20 * RETRY_MS);
    expect(lines).toHaveLength(1);
    registry.failure = new ChainError('RPC_UNREACHABLE', 'no answer');
    await clock.advance(20 * RETRY_MS);
    expect(lines).toHaveLength(2);
    await staking.stop();
  });

  test('a transaction of an earlier start is waited for and not sent again, however long it is stuck', async () => {
    const made = bench();
    const { registry, clock } = made;
    registry.stake = { ...staked, overlay: OTHER_OVERLAY };
    registry.underway = [earlier()];
    registry.stuck = true;
    made.staking.start();
    await clock.advance(3 * MINED_WITHIN_MS);
    expect(registry.sent).toEqual([]);
    registry.stuck = false;
    await clock.advance(MINED_WITHIN_MS + RETRY_MS);
    expect(registry.stake.overlay).toEqual(OVERLAY);
    expect(registry.sent).toHaveLength(1);
  });

  test('an unavailable chain is waited for until the node stops', async () => {
    const made = bench();
    made.registry.stake = { ...staked, overlay: OTHER_OVERLAY };
    made.registry.failure = new ChainError('RPC_UNREACHABLE', 'no answer');
    made.staking.start();
    await made.clock.advance(2 * RETRY_MS);
    made.registry.failure = undefined;
    await made.clock.advance(RETRY_MS);
    expect(made.registry.stake.overlay).toEqual(OVERLAY);

    const stopped = await started({ overlay: OTHER_OVERLAY, lastUpdated: 200n });
    await stopped.staking.stop();
    expect(stopped.clock.running).toBe(0);
  });
});

test('a stake of any size is read as the contract states it', async () => {
  const { registry, staking } = bench();
  registry.stake = { overlay: fromHex('ff'.repeat(32)), amount: 2n ** 200n, lastUpdated: 0n, height: 0 };
  expect(await staking.staked(signal)).toBe(2n ** 200n);
});
