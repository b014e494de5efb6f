import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { encodeAmount } from '../../../../node/protocols/amounts.ts';
import { acceptedAmount, amountOf } from '../../../../node/protocols/pseudosettle/rules.ts';
import { Payment, PaymentAck, PSEUDOSETTLE } from '../../../../node/protocols/pseudosettle/wire.ts';
import { memoryRecords } from '../../p2p/memory-nodes.ts';
import {
  connect,
  type ExchangeNode,
  exchangeNode,
  exchangeNodes,
  line,
  PRODUCTION,
  stranger,
} from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const RATE = PRODUCTION.refreshRate;

function owe(debtor: ExchangeNode, creditor: ExchangeNode, amount: bigint): void {
  const debit = creditor.accounting.prepareDebit(creditor.host.peer(debtor.id)!, amount);
  debit.apply();
  debtor.accounting.prepareCredit(debtor.host.peer(creditor.id)!, amount, true).apply();
}

function balanceOf(node: ExchangeNode, other: ExchangeNode): bigint | undefined {
  return node.accounting.balance(other.id)?.consumedBalance;
}

describe('an honest pair', () => {
  test('settles the whole debt with the first refresh, and both sides count the same', async () => {
    const clock = new ManualClock();
    const [a, b] = await line(2, { clock });
    owe(a!, b!, 5_000_000n);
    await clock.settle();
    expect([balanceOf(a!, b!), balanceOf(b!, a!)]).toEqual([0n, 0n]);
    expect(a!.pseudosettle.settlements()).toEqual([{ peer: b!.id, sent: 5_000_000n, received: 0n }]);
    expect(b!.pseudosettle.settlement(a!.id)).toEqual({ peer: a!.id, sent: 0n, received: 5_000_000n });
    expect(a!.pseudosettle.settlement(a!.id)).toBeUndefined();
  });

  test('settles once per second, for at most one second of the refresh rate', async () => {
    const clock = new ManualClock();
    const [a, b] = await line(2, { clock });
    owe(a!, b!, 6_000_000n);
    await clock.settle();
    owe(a!, b!, 6_000_000n);
    await clock.settle();
    expect(balanceOf(a!, b!)).toBe(-6_000_000n);
    await clock.advance(1_100);
    owe(a!, b!, 1_000_000n);
    await clock.settle();
    expect(balanceOf(a!, b!)).toBe(-7_000_000n + RATE);
    expect(balanceOf(b!, a!)).toBe(7_000_000n - RATE);
  });

  property.prop(
    [
      fc.record({
        phaseMs: fc.integer({ min: 0, max: 999 }),
        offsetMs: fc.integer({ min: -1_900, max: 1_900 }),
        latencyMs: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 700 })),
        pausesMs: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 100, maxLength: 150 }),
      }),
    ],
    { numRuns: 50 },
  )(
    'is never refused, whatever the phase between the clocks, the latency and the moments of use',
    async ({ phaseMs, offsetMs, latencyMs, pausesMs }) => {
      const clock = new ManualClock();
      await clock.advance(phaseMs);
      const network = new MemoryNetwork();
      const a = exchangeNode(1, { clock, network, latencyMs });
      const b = exchangeNode(2, { clock: clock.shifted(offsetMs), network, latencyMs });
      for (const { host } of [a, b]) await host.start();
      await connect(a, b, clock);
      for (const pauseMs of pausesMs) {
        await clock.advance(pauseMs);
        for (let n = 0; n < 5 && mayOwe(a, b); n++) owe(a, b, 300_000n);
      }
      await clock.advance(10_000);
      expect([...a.losses, ...b.losses]).toEqual([]);
      expect(a.pseudosettle.settlement(b.id)?.sent).toBe(b.pseudosettle.settlement(a.id)?.received);
      expect(balanceOf(a, b)).toBe(-(balanceOf(b, a) ?? 1n));
    },
  );

  test('keeps its settlements a second apart across a restart of the debtor', async () => {
    const clock = new ManualClock();
    const network = new MemoryNetwork();
    const subsystems = new Map([
      ['accounting', memoryRecords()],
      ['pseudosettle', memoryRecords()],
    ]);
    const state = (subsystem: string) => subsystems.get(subsystem)!;
    const creditor = exchangeNode(2, { clock, network });
    await creditor.host.start();
    for (let run = 1; run <= 2; run++) {
      const debtor = exchangeNode(1, { clock, network, state });
      await debtor.host.start();
      await connect(debtor, creditor, clock);
      owe(debtor, creditor, RATE);
      await clock.advance(run === 1 ? 0 : 1_100);
      expect(debtor.pseudosettle.settlement(creditor.id)?.sent).toBe(RATE * BigInt(run));
      expect(debtor.losses).toEqual([]);
      await debtor.host.stop();
      await clock.settle();
    }
  });
});

/** Whether the debtor may take another service of 300,000 units; says nothing when it has to wait. */
function mayOwe(debtor: ExchangeNode, creditor: ExchangeNode): boolean {
  try {
    debtor.accounting.prepareCredit(debtor.host.peer(creditor.id)!, 300_000n, true).release();
    return true;
  } catch {
    return false;
  }
}

describe('a creditor', () => {
  /** @param offsetsMs of the creditor's wall clock at each payment */
  async function paymentsOf(
    amounts: readonly bigint[],
    pausesMs: readonly number[],
    fullNode = true,
    offsetsMs: readonly number[] = [],
  ) {
    const clock = new ManualClock();
    const network = new MemoryNetwork();
    const [creditor] = await exchangeNodes(1, { clock, network });
    const debtor = exchangeNode(2, { clock, network, fullNode });
    await debtor.host.start();
    const peer = await connect(debtor, creditor!, clock);
    const debit = creditor!.accounting.prepareDebit(creditor!.host.peer(debtor.id)!, 1_000_000n);
    debit.apply();
    const answers: (MessageOf<typeof PaymentAck> | 'reset')[] = [];
    for (const [i, amount] of amounts.entries()) {
      await clock.advance(pausesMs[i] ?? 0);
      clock.set(offsetsMs[i] ?? 0);
      const stream = await debtor.host.open(peer, PSEUDOSETTLE.id, { signal: peer.closed });
      await stream.write(Payment, { amount: encodeAmount(amount) });
      answers.push(await stream.read(PaymentAck).catch(() => 'reset' as const));
    }
    return { answers, balance: creditor!.accounting.balance(debtor.id)?.consumedBalance };
  }

  test('accepts no more than the debt', async () => {
    const { answers, balance } = await paymentsOf([3_000_000n], [0]);
    expect(answers.map((answer) => answer !== 'reset' && amountOf(answer.amount))).toEqual([1_000_000n]);
    expect(balance).toBe(0n);
  });

  test('resets the stream of a second refresh in the same second, and accepts one in the next', async () => {
    const { answers } = await paymentsOf([400_000n, 400_000n, 400_000n], [0, 999, 1]);
    expect(answers.map((answer) => (answer === 'reset' ? answer : amountOf(answer.amount)))).toEqual([
      400_000n,
      'reset',
      400_000n,
    ]);
  });

  test('forgives a light peer at a tenth of the rate', async () => {
    const { answers } = await paymentsOf([1n, 900_000n], [0, 1_000], false);
    expect(answers.map((answer) => answer !== 'reset' && amountOf(answer.amount))).toEqual([1n, 450_000n]);
  });

  test.each([7_200_000, -7_200_000])(
    'forgives by the time that has passed when its clock is set wrong by %s ms, and right again',
    async (offsetMs) => {
      const { answers } = await paymentsOf([1n, 900_000n, 900_000n], [0, 1_000, 1_000], false, [
        0,
        offsetMs,
        0,
      ]);
      const accepted = answers.map((answer) => answer !== 'reset' && amountOf(answer.amount));
      expect(accepted).toEqual([1n, 450_000n, 450_000n]);
    },
  );

  test('resets the stream when an amount has more than 256 bits', async () => {
    const { answers, balance } = await paymentsOf([1n << 256n], [0]);
    expect(answers).toEqual(['reset']);
    expect(balance).toBe(1_000_000n);
  });

  test.each([
    { attempted: 10n, debt: 20n, elapsedSeconds: 1n, rate: 15n, accepted: 10n },
    { attempted: 30n, debt: 20n, elapsedSeconds: 9n, rate: 15n, accepted: 20n },
    { attempted: 30n, debt: 20n, elapsedSeconds: 1n, rate: 15n, accepted: 15n },
    { attempted: 30n, debt: 0n, elapsedSeconds: 1n, rate: 15n, accepted: 0n },
    { attempted: 30n, debt: 20n, elapsedSeconds: -3n, rate: 15n, accepted: 0n },
  ])('accepts $accepted of $attempted at debt $debt after $elapsedSeconds s', ({ accepted, ...given }) => {
    expect(acceptedAmount(given)).toBe(accepted);
  });
});

describe('a creditor that breaks a rule is blocklisted:', () => {
  /** Lets a node owe enough to settle with a creditor that answers by `answer`, twice if need be. */
  async function settleWith(
    answer: (
      attempted: bigint,
      now: bigint,
      count: number,
    ) => { amount: bigint; timestamp: bigint } | 'reset',
    times = 1,
  ) {
    const clock = new ManualClock();
    const network = new MemoryNetwork();
    const [debtor] = await exchangeNodes(1, { clock, network });
    let count = 0;
    const creditor = await stranger(9, {
      clock,
      network,
      protocol: PSEUDOSETTLE,
      handler: async (stream) => {
        const attempted = amountOf((await stream.read(Payment)).amount);
        const given = answer(attempted, BigInt(Math.floor(clock.now() / 1000)), ++count);
        if (given === 'reset') throw new Error('refused');
        await stream.write(PaymentAck, { amount: encodeAmount(given.amount), timestamp: given.timestamp });
      },
    });
    const peer = await connect(debtor!, creditor, clock);
    for (let i = 0; i < times; i++) {
      // 21 prices are beyond the early payment of 6,750,000.
      for (let n = 0; n < 21; n++) debtor!.accounting.prepareCredit(peer, 320_000n, true).apply();
      await clock.advance(1_500);
    }
    return debtor!.host.blocklisted().map(({ reason, durationMs }) => ({ reason, durationMs }));
  }

  const refused = [{ reason: 'failed to refresh', durationMs: 4_000 }];
  const short = [{ reason: 'failed to meet expectation for allowance', durationMs: 4_000 }];

  test('it resets the stream', async () => {
    expect(await settleWith(() => 'reset')).toEqual(refused);
  });

  test('it accepts more than was paid', async () => {
    expect(await settleWith((amount, timestamp) => ({ amount: amount + 1n, timestamp }))).toEqual(refused);
  });

  test('it accepts less than debt and time allow', async () => {
    expect(await settleWith((amount, timestamp) => ({ amount: amount - 1n, timestamp }))).toEqual(short);
  });

  test('its clock differs by more than two seconds', async () => {
    expect(await settleWith((amount, now) => ({ amount, timestamp: now + 3n }))).toEqual(refused);
    expect(await settleWith((amount, now) => ({ amount, timestamp: now - 3n }))).toEqual(refused);
    expect(await settleWith((amount, now) => ({ amount, timestamp: now + 2n }))).toEqual([]);
    expect(await settleWith((amount, now) => ({ amount, timestamp: now - 2n }))).toEqual([]);
  });

  test('its clock goes backwards', async () => {
    const answer = (amount: bigint, now: bigint, count: number) => ({
      amount,
      timestamp: count === 1 ? now + 2n : now - 1n,
    });
    expect(await settleWith(answer, 2)).toEqual(refused);
  });

  test('its clock runs more than three seconds apart from ours between two refreshes', async () => {
    const answer = (amount: bigint, now: bigint, count: number) => ({
      amount,
      timestamp: count === 1 ? now - 2n : now + 2n,
    });
    expect(await settleWith(answer, 2)).toEqual(refused);
  });

  test('but not when it is slow to answer with an honest clock', async () => {
    const clock = new ManualClock();
    const network = new MemoryNetwork();
    const [debtor] = await exchangeNodes(1, { clock, network });
    const creditor = await stranger(9, {
      clock,
      network,
      protocol: PSEUDOSETTLE,
      handler: async (stream) => {
        const { amount } = await stream.read(Payment);
        const timestamp = BigInt(Math.floor(clock.now() / 1000));
        await clock.sleep(4_000);
        await stream.write(PaymentAck, { amount, timestamp });
      },
    });
    const peer = await connect(debtor!, creditor, clock);
    for (let n = 0; n < 21; n++) debtor!.accounting.prepareCredit(peer, 320_000n, true).apply();
    await clock.advance(5_000);
    expect(debtor!.losses).toEqual([]);
    expect(debtor!.pseudosettle.settlement(creditor.id)?.sent).toBeGreaterThan(0n);
  });

  test('nor when it leaves in the middle of a refresh', async () => {
    const clock = new ManualClock();
    const network = new MemoryNetwork();
    const [debtor] = await exchangeNodes(1, { clock, network });
    const creditor = await stranger(9, {
      clock,
      network,
      protocol: PSEUDOSETTLE,
      handler: async () => creditor.host.stop(),
    });
    const peer = await connect(debtor!, creditor, clock);
    for (let n = 0; n < 21; n++) debtor!.accounting.prepareCredit(peer, 320_000n, true).apply();
    await clock.advance(1_000);
    expect(peer.closed.aborted).toBe(true);
    expect(debtor!.host.blocklisted()).toEqual([]);
  });
});

test('amounts are minimal big-endian magnitudes, empty for zero', () => {
  expect(encodeAmount(0n)).toEqual(new Uint8Array(0));
  expect(encodeAmount(255n)).toEqual(Uint8Array.of(255));
  expect(encodeAmount(256n)).toEqual(Uint8Array.of(1, 0));
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }), (amount) => {
      expect(amountOf(encodeAmount(amount))).toBe(amount);
      expect(encodeAmount(amount)[0]).not.toBe(0);
    }),
  );
});
