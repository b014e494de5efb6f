import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import type { MessageStream } from '../../../../node/p2p/host.ts';
import { encodeAmount } from '../../../../node/protocols/amounts.ts';
import { increaseFor } from '../../../../node/protocols/swap/rules.ts';
import { PAYMENT_TIMEOUT_MS } from '../../../../node/protocols/swap/swap.ts';
import { EmitCheque, SWAP } from '../../../../node/protocols/swap/wire.ts';
import { decodeCheque, type SignedCheque } from '../../../../node/swap/cheque.ts';
import { memoryNode, memoryRecords, testKey } from '../../p2p/memory-nodes.ts';
import { never } from '../exchange-nodes.ts';
import { pair, sums } from './pair.ts';
import {
  bookOf,
  counted,
  DEDUCTION,
  FUNDS,
  meet,
  outcome,
  RATE,
  type SwapNode,
  swapNode,
  type World,
  world,
} from './swap-nodes.ts';

describe('an honest pair', () => {
  test('pays a debt: both sides store it, it is credited once, and both settlements agree', async () => {
    const { a, b, peer, clock } = await pair();
    expect(await outcome(a.protocol.pay(peer, 5_000_000n), clock)).toBe('done');
    const payout = 5_000_000n * RATE + DEDUCTION;
    expect(b.credited).toEqual([{ peer: a.id, amount: 5_000_000n }]);
    expect(a.services.settlements()).toEqual([{ peer: b.id, sent: payout, received: 0n }]);
    expect(b.services.settlement(a.id)).toEqual({ peer: a.id, sent: 0n, received: payout });
    expect(b.services.lastChequesWith(a.id)?.received).toEqual(a.services.lastChequesWith(b.id)?.sent);
    expect(await a.services.chequebook?.availableBalance(never)).toBe(FUNDS - payout);
    expect(await counted(a, 'swap_cheques_sent')).toBe(1);
    expect(await counted(a, 'swap_total_sent')).toBe(5_000_000);
    expect(await counted(a, 'swap_available_balance')).toBe(Number(FUNDS - payout));
    expect(await counted(b, 'swap_cheques_received')).toBe(1);
    expect(await counted(b, 'swap_total_received')).toBe(Number(payout));
    expect(await counted(b, 'swap_cheques_rejected')).toBe(0);
  });

  test('deducts the cost of cashing once per peer and direction, even across a restart', async () => {
    const parts = world();
    const states = [memoryRecords(), memoryRecords()];
    const books = [parts.chain.deploy(testKey(1), FUNDS), parts.chain.deploy(testKey(2), FUNDS)];
    for (let run = 1; run <= 2; run++) {
      const a = await swapNode(1, parts, { state: states[0]!, chequebook: books[0]! });
      const b = await swapNode(2, parts, { state: states[1]!, chequebook: books[1]! });
      const peer = await meet(a, b, parts.clock);
      await a.protocol.pay(peer, 1_000n);
      await a.protocol.pay(peer, 1_000n);
      const cheques = BigInt(2 * run);
      expect(a.services.settlement(b.id)?.sent).toBe(cheques * 1_000n * RATE + DEDUCTION);
      expect(b.services.settlement(a.id)?.received).toBe(cheques * 1_000n * RATE + DEDUCTION);
      expect(sums(b)).toEqual([1_000n, 1_000n]);
      await a.host.stop();
      await b.host.stop();
      await parts.clock.settle();
    }
  });

  test('pays in both directions at once', async () => {
    const { a, b, peer, clock } = await pair();
    const back = b.host.peer(a.id)!;
    await Promise.all([a.protocol.pay(peer, 10n), b.protocol.pay(back, 20n), a.protocol.pay(peer, 30n)]);
    await clock.settle();
    expect([sums(a), sums(b)]).toEqual([[20n], [10n, 30n]]);
    expect(a.services.settlement(b.id)).toEqual({
      peer: b.id,
      sent: 40n * RATE + DEDUCTION,
      received: 20n * RATE + DEDUCTION,
    });
  });

  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('pay' as const),
        amount: fc.bigInt({ min: 1n, max: 10n ** 6n }),
      }),
    },
    fc.record({ kind: fc.constantFrom('receiver down', 'receiver silent', 'reconnect', 'both restart') }),
  );
  property.prop([fc.array(step, { minLength: 1, maxLength: 12 })], { numRuns: 60 })(
    'counts the same on both sides after any payments, refusals, lost answers and reconnects',
    async (steps) => {
      const parts = world();
      const states = [memoryRecords(), memoryRecords()] as const;
      const books = [parts.chain.deploy(testKey(1), FUNDS), parts.chain.deploy(testKey(2), FUNDS)] as const;
      let a = await swapNode(1, parts, { state: states[0], chequebook: books[0] });
      let b = await swapNode(2, parts, { state: states[1], chequebook: books[1] });
      let peer = await meet(a, b, parts.clock);
      let paid = 0n;
      for (const { kind, ...rest } of steps) {
        if (kind === 'pay' && 'amount' in rest) {
          const paying = a.protocol.pay(peer, rest.amount).then(
            () => true,
            () => false,
          );
          await parts.clock.advance(PAYMENT_TIMEOUT_MS + 1_000);
          if (await paying) paid += rest.amount;
          b.chain.isDown = false;
          b.chain.isSilent = false;
        } else if (kind === 'receiver down') b.chain.isDown = true;
        else if (kind === 'receiver silent') b.chain.isSilent = true;
        else {
          for (const { host } of [a, b]) await host.stop();
          await parts.clock.settle();
          a = await swapNode(1, parts, { state: states[0], chequebook: books[0] });
          b = await swapNode(2, parts, { state: states[1], chequebook: books[1] });
          peer = await meet(a, b, parts.clock);
          await parts.clock.settle();
          paid = 0n;
        }
      }
      b.chain.isDown = false;
      b.chain.isSilent = false;
      // A last payment settles whatever is in doubt.
      expect(await outcome(a.protocol.pay(peer, 2_000_000n), parts.clock)).toBe('done');
      paid += 2_000_000n;
      expect(b.services.settlement(a.id)?.received).toBe(a.services.settlement(b.id)?.sent);
      const credited = sums(b).reduce((sum, amount) => sum + amount, 0n);
      // Each division for a cheque in doubt loses base units.
      expect(credited).toBeGreaterThanOrEqual(paid - BigInt(steps.length));
    },
  );
});

describe('through a slow endpoint', () => {
  /** Every answer comes after `ms`. */
  function slow({ chain }: SwapNode, clock: World['clock'], ms: number): void {
    const answer = chain.call.bind(chain);
    chain.call = async (request, signal) => {
      await clock.sleep(ms, signal);
      return answer(request, signal);
    };
  }

  test('payments are accepted, including the first one with all its chain look-ups', async () => {
    const { a, b, peer, clock } = await pair();
    slow(a, clock, 4_000);
    slow(b, clock, 4_000);
    for (const amount of [5n, 7n]) {
      const paying = expect(a.protocol.pay(peer, amount)).resolves.toBeUndefined();
      await clock.advance(PAYMENT_TIMEOUT_MS);
      await paying;
    }
    expect(sums(b)).toEqual([5n, 7n]);
    expect(a.protocol.inDoubt(peer)).toBe(0n);
  });

  test('a later cheque needs two look-ups: what does not change is remembered from the last one', async () => {
    const { a, b, peer, clock } = await pair();
    const looks = async () => {
      const before = b.chain.calls;
      expect(await outcome(a.protocol.pay(peer, 5n), clock)).toBe('done');
      return b.chain.calls - before;
    };
    expect([await looks(), await looks()]).toEqual([4, 2]);
  });

  test('an endpoint that comes back in time costs nothing', async () => {
    const { a, b, peer, clock } = await pair();
    b.chain.isDown = true;
    let end = 'pending';
    a.protocol.pay(peer, 5n).then(
      () => (end = 'paid'),
      () => (end = 'failed'),
    );
    await clock.advance(PAYMENT_TIMEOUT_MS / 2);
    expect(end).toBe('pending');
    b.chain.isDown = false;
    await clock.advance(2_000);
    expect(end).toBe('paid');
    expect(sums(b)).toEqual([5n]);
    expect(await counted(b, 'swap_cheques_rejected')).toBe(0);
  });

  test('the cheque of one peer does not wait for that of another', async () => {
    const { a, b, peer, ...parts } = await pair();
    const c = await swapNode(3, parts);
    const other = await meet(c, b, parts.clock);
    const answer = b.chain.call.bind(b.chain);
    const stalled = Promise.withResolvers<string>();
    b.chain.call = (request, signal) =>
      request.to === `0x${toHex(bookOf(a))}` ? stalled.promise : answer(request, signal);
    const first = expect(a.protocol.pay(peer, 5n)).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(await outcome(c.protocol.pay(other, 7n), parts.clock)).toBe('done');
    stalled.reject(new Error('enough'));
    await parts.clock.advance(PAYMENT_TIMEOUT_MS);
    await first;
    expect(b.credited).toEqual([{ peer: c.id, amount: 7n }]);
  });
});

describe('the debtor', () => {
  /** It keeps what it is sent. */
  async function creditor(
    headers: Record<string, Uint8Array> | undefined,
    then?: (stream: MessageStream) => Promise<void>,
  ) {
    const parts = world();
    const a = await swapNode(1, parts);
    const { host, underlay } = memoryNode({ network: parts.network, n: 9, clock: parts.clock });
    const got: SignedCheque[] = [];
    host.handle(
      SWAP,
      async (stream) => {
        got.push(decodeCheque((await stream.read(EmitCheque)).cheque));
        await then?.(stream);
      },
      () => new Map(Object.entries(headers ?? {})),
    );
    await host.start();
    const peer = await meet(a, { underlay }, parts.clock);
    return { ...parts, a, peer, got };
  }

  const honest = { exchange: encodeAmount(RATE), deduction: encodeAmount(DEDUCTION) };

  test.each([
    ['no exchange header', undefined],
    ['no exchange header', { exchange: new Uint8Array(0) }],
    ['malformed header: exchange of 33 bytes', { exchange: new Uint8Array(33).fill(1) }],
    ['malformed header: deduction of 33 bytes', { ...honest, deduction: new Uint8Array(33).fill(1) }],
    ['exchange rates mismatch: 100001, expected 100000', { ...honest, exchange: encodeAmount(RATE + 1n) }],
    [
      'deduction values mismatch: 101, expected 100 or 0',
      { ...honest, deduction: encodeAmount(DEDUCTION + 1n) },
    ],
  ])('pays nothing to a creditor with wrong rates: %s', async (message, headers) => {
    const { a, peer, got, clock } = await creditor(headers);
    expect(await outcome(a.protocol.pay(peer, 50n), clock)).toBe(message);
    expect(got).toEqual([]);
    expect(a.services.settlements()).toEqual([]);
    expect(await counted(a, 'swap_cheques_sent')).toBe(0);
  });

  test('pays without a deduction where the creditor asks for none', async () => {
    const { a, peer, got, clock } = await creditor({ exchange: encodeAmount(RATE) });
    expect(await outcome(a.protocol.pay(peer, 50n), clock)).toBe('done');
    expect(got[0]?.cumulativePayout).toBe(50n * RATE);
  });

  test('pays no second deduction', async () => {
    const { a, peer, got, clock } = await creditor(honest);
    expect(await outcome(a.protocol.pay(peer, 50n), clock)).toBe('done');
    expect(await outcome(a.protocol.pay(peer, 50n), clock)).toBe('received deduction not zero: 100');
    expect(got).toHaveLength(1);
  });

  test('pays no peer before it knows the rates', async () => {
    const parts = world();
    parts.chain.rates = { exchangeRate: 0n, deduction: 0n };
    const a = await swapNode(1, parts);
    const { host, underlay } = memoryNode({ network: parts.network, n: 9, clock: parts.clock });
    host.handle(
      SWAP,
      async () => undefined,
      () => new Map(Object.entries(honest)),
    );
    await host.start();
    const peer = await meet(a, { underlay }, parts.clock);
    expect(await outcome(a.protocol.pay(peer, 50n), parts.clock)).toBe('exchange rate not yet available');
  });

  test('promises no more than it has to all peers together', async () => {
    const { a, b, peer, chain, clock } = await pair();
    chain.book(bookOf(a)).balance = 100n * RATE + DEDUCTION;
    expect(await outcome(a.protocol.pay(peer, 101n), clock)).toMatch(/^chequebook out of funds/);
    const both = [a.protocol.pay(peer, 60n), a.protocol.pay(peer, 60n)].map((work) => outcome(work, clock));
    expect(await Promise.all(both)).toEqual(['done', expect.stringMatching(/^chequebook out of funds/)]);
    expect(sums(b)).toEqual([60n]);
    chain.book(bookOf(a)).balance -= 60n * RATE + DEDUCTION;
    chain.book(bookOf(a)).paidOut.set(toHex(b.signer.address), 60n * RATE + DEDUCTION);
    expect(await outcome(a.protocol.pay(peer, 40n), clock)).toBe('done');
    expect(await outcome(a.protocol.pay(peer, 1n), clock)).toMatch(/^chequebook out of funds/);
  });

  test('keeps the debt when the creditor refuses, and then pays it exactly once', async () => {
    let refuses = true;
    const { a, peer, got, clock } = await creditor(honest, async () => {
      if (refuses) throw new Error('refused');
    });
    expect(await outcome(a.protocol.pay(peer, 50n), clock)).toBe('cheque not taken');
    expect(await outcome(a.protocol.pay(peer, 70n), clock)).toBe('cheque not taken');
    refuses = false;
    expect(await outcome(a.protocol.pay(peer, 70n), clock)).toBe('done');
    expect(got.map(({ cumulativePayout }) => cumulativePayout)).toEqual(
      [50n, 70n, 70n].map((n) => n * RATE + DEDUCTION),
    );
  });

  test('gives a creditor that denies its cheques the price of what it serves and one deduction, however often it returns', async () => {
    const {
      a,
      peer: first,
      got,
      clock,
    } = await creditor(honest, async () => {
      throw new Error('never seen');
    });
    let peer = first;
    for (let sessions = 1n; sessions <= 5n; sessions++) {
      for (const amount of [50n, 70n, 70n, 60n, 1n])
        expect(await outcome(a.protocol.pay(peer, amount), clock)).toBe('cheque not taken');
      // As much as the largest debt of each session; what time forgives meanwhile is not added to.
      expect(got.at(-1)?.cumulativePayout).toBe(sessions * 70n * RATE + DEDUCTION);
      expect(a.services.cheques.totalIssued(bookOf(a))).toBe(got.at(-1)?.cumulativePayout);
      const { underlays } = peer;
      await a.host.disconnect(peer.overlayHex, 'enough');
      await clock.settle();
      peer = await a.host.connect(underlays, never);
      await clock.settle();
    }
  });

  test('pays a creditor that lost its first cheque in full, including the deduction, after a reconnect', async () => {
    const parts = world();
    const a = await swapNode(1, parts);
    const b = await swapNode(2, parts);
    let peer = await meet(a, b, parts.clock);
    b.chain.isDown = true;
    const lost = expect(a.protocol.pay(peer, 50n)).rejects.toMatchObject({ code: 'TIMEOUT' });
    await parts.clock.advance(PAYMENT_TIMEOUT_MS);
    await lost;
    for (let n = 0; n < 2; n++) {
      await a.host.disconnect(b.id, 'again');
      await parts.clock.settle();
      peer = await meet(a, b, parts.clock);
    }
    b.chain.isDown = false;
    // The lost one is taken first, and counts towards what is paid now.
    await a.host.disconnect(b.id, 'again');
    await parts.clock.settle();
    peer = await meet(a, b, parts.clock);
    expect(await outcome(a.protocol.pay(peer, 70n), parts.clock)).toBe('done');
    expect(sums(b)).toEqual([50n, 20n]);
    expect(b.services.settlement(a.id)?.received).toBe(70n * RATE + DEDUCTION);
  });

  test.each([
    [
      'takes the cheque and says nothing',
      (stream: MessageStream) => stream.read(EmitCheque).then(() => undefined),
    ],
    [
      'answers a message instead of the end',
      async (stream: MessageStream) => stream.write(EmitCheque, { cheque: new Uint8Array(3) }),
    ],
  ])('is not held up by a creditor that %s', async (_, then) => {
    const { a, peer, clock } = await creditor(honest, then);
    const paying = a.protocol.pay(peer, 50n).then(
      () => 'paid',
      () => 'not paid',
    );
    await clock.advance(PAYMENT_TIMEOUT_MS);
    expect(await paying).toBe('not paid');
    expect(a.services.cheques.totalIssued(bookOf(a))).toBe(50n * RATE + DEDUCTION);
  });

  test('is not held up by a withdrawal that cannot be sent', async () => {
    const parts = world();
    const sent = Promise.withResolvers<string>();
    const a = await swapNode(1, parts, { send: () => sent.promise });
    const b = await swapNode(2, parts);
    const peer = await meet(a, b, parts.clock);
    const withdrawal = a.services.chequebook?.withdraw(1n, {}, never);
    let failure = '';
    const paying = a.protocol.pay(peer, 5n).catch((error: unknown) => {
      failure = (error as Error).message;
    });
    await parts.clock.advance(PAYMENT_TIMEOUT_MS);
    expect(failure).toBe('no result within 30000 ms');
    sent.resolve('0x');
    await Promise.all([withdrawal, paying]);
    expect(a.services.settlements()).toEqual([]);
    expect(await outcome(a.protocol.pay(peer, 5n), parts.clock)).toBe('done');
    expect(sums(b)).toEqual([5n]);
  });

  test('fails to pay a peer that does not support cheques', async () => {
    const parts = world();
    const a = await swapNode(1, parts);
    const { host, underlay } = memoryNode({ network: parts.network, n: 9, clock: parts.clock });
    await host.start();
    const peer = await meet(a, { underlay }, parts.clock);
    expect(await outcome(a.protocol.pay(peer, 5n), parts.clock)).not.toBe('done');
    expect(a.services.settlements()).toEqual([]);
  });

  test('without a chequebook pays no peer, and still accepts cheques', async () => {
    const parts = world();
    const a = await swapNode(1, parts);
    const b = await swapNode(2, parts, { chequebook: false });
    const peer = await meet(a, b, parts.clock);
    expect(await outcome(b.protocol.pay(b.host.peer(a.id)!, 5n), parts.clock)).toBe('no chequebook');
    expect(await outcome(a.protocol.pay(peer, 5n), parts.clock)).toBe('done');
    expect(sums(b)).toEqual([5n]);
  });
});

const amounts = fc.bigInt({ min: 1n, max: 10n ** 9n });

property.prop([amounts, fc.bigInt({ min: 0n, max: 10n ** 14n })])(
  'a cheque in doubt and the next one together are worth the debt, whether or not the first one arrived',
  (amount, unconfirmed) => {
    const increase = increaseFor(amount, RATE, { unconfirmed, prepaid: 0n });
    const total = unconfirmed + increase;
    expect(total >= amount * RATE - RATE).toBe(true);
    if (increase > 0n)
      expect(total).toBe(unconfirmed === 0n || amount * RATE - unconfirmed >= RATE ? amount * RATE : total);
    expect(increase === 0n || increase >= RATE).toBe(true);
  },
);
