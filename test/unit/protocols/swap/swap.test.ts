import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { selectorOf } from '../../../../formats/ethereum/abi.ts';
import { type AccountingService, createAccounting } from '../../../../node/accounting/accounting.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { Lock } from '../../../../node/env/turns/lock.ts';
import type { MessageStream, Peer } from '../../../../node/p2p/host.ts';
import { encodeAmount } from '../../../../node/protocols/amounts.ts';
import { increaseFor } from '../../../../node/protocols/swap/rules.ts';
import { PAYMENT_TIMEOUT_MS } from '../../../../node/protocols/swap/swap.ts';
import { EmitCheque, SWAP } from '../../../../node/protocols/swap/wire.ts';
import {
  type Cheque,
  decodeCheque,
  encodeCheque,
  type SignedCheque,
  signCheque,
} from '../../../../node/swap/cheque.ts';
import { SWAP_FUNCTIONS } from '../../../../node/swap/contracts.ts';
import { CHAIN_ID } from '../../onchain/addresses.ts';
import { memoryNode, memoryRecords, testKey } from '../../p2p/memory-nodes.ts';
import { never, PRODUCTION, stranger } from '../exchange-nodes.ts';
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

async function pair(): Promise<World & { a: SwapNode; b: SwapNode; peer: Peer }> {
  const parts = world();
  const a = await swapNode(1, parts);
  const b = await swapNode(2, parts);
  const peer = await meet(a, b, parts.clock);
  return { ...parts, a, b, peer };
}

const sums = (node: SwapNode) => node.credited.map(({ amount }) => amount);

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
      /** What the debtor counts as paid in this session. */
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
      // Base units below one accounting unit are lost in a division for each cheque in doubt.
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
  /** A creditor that answers these headers and keeps what it is sent. */
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
    // Cashing changes nothing: what is paid out was promised.
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
    // The one that was lost is taken first, and counts towards what is paid now.
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

test('a cheque in doubt is not written off while the creditor cannot look at the chain', async () => {
  const { a, b, peer, clock } = await pair();
  b.chain.isDown = true;
  const first = expect(a.protocol.pay(peer, 500n)).rejects.toMatchObject({ code: 'TIMEOUT' });
  await clock.advance(PAYMENT_TIMEOUT_MS);
  await first;
  expect(a.protocol.inDoubt(peer)).toBe(500n);
  await a.host.disconnect(b.id, 'cut');
  await clock.settle();
  const again = await meet(a, b, clock);
  await clock.advance(PAYMENT_TIMEOUT_MS);
  expect(a.protocol.inDoubt(again)).toBe(500n);
  b.chain.isDown = false;
  expect(await outcome(a.protocol.pay(again, 2_000n), clock)).toBe('done');
  expect(sums(b)).toEqual([500n, 1_500n]);
  expect(a.protocol.inDoubt(again)).toBe(0n);
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

describe('the creditor', () => {
  /** A debtor that sends what a test says. */
  async function debtor() {
    const parts = world();
    const b = await swapNode(2, parts);
    const key = testKey(9);
    const book = parts.chain.deploy(key, FUNDS);
    const mallory = await stranger(9, {
      ...parts,
      protocol: { id: '/swarm/other/1.0.0/other', inboundStreamsMax: 1 },
      handler: async () => undefined,
    });
    const peer = await meet(mallory, b, parts.clock);
    const good: Cheque = {
      chequebook: book,
      beneficiary: b.signer.address,
      cumulativePayout: 50n * RATE + DEDUCTION,
    };
    const signed = (change: Partial<Cheque> = {}, by = key, chainId = CHAIN_ID): SignedCheque =>
      signCheque({ ...good, ...change }, createSigner(by), chainId);
    /** @returns whether the creditor ended the stream in order */
    const send = async (cheque: SignedCheque | Uint8Array): Promise<'taken' | 'refused'> => {
      const stream = await mallory.host.open(peer, SWAP.id, { signal: peer.closed });
      await stream.write(EmitCheque, {
        cheque: cheque instanceof Uint8Array ? cheque : encodeCheque(cheque),
      });
      const end = outcome(stream.close(), parts.clock);
      await parts.clock.settle();
      return (await end) === 'done' ? 'taken' : 'refused';
    };
    return { ...parts, b, book, key, mallory, peer, good, signed, send };
  }

  type Debtor = Awaited<ReturnType<typeof debtor>>;

  test.each<[string, (d: Debtor) => SignedCheque | Uint8Array]>([
    ['for somebody else', ({ signed }) => signed({ beneficiary: new Uint8Array(20).fill(5) })],
    ['signed by another key', ({ signed }) => signed({}, testKey(7))],
    ['signed for another chain', ({ signed }) => signed({}, testKey(9), 100n)],
    ['changed after it was signed', ({ signed }) => ({ ...signed(), cumulativePayout: 60n * RATE })],
    [
      'worth less than one unit after the deduction',
      ({ signed }) => signed({ cumulativePayout: RATE + DEDUCTION - 1n }),
    ],
    ['worth nothing', ({ signed }) => signed({ cumulativePayout: 0n })],
    ['above the balance', ({ signed }) => signed({ cumulativePayout: FUNDS + 1n })],
    ['of the largest number there is', ({ signed }) => signed({ cumulativePayout: 2n ** 256n - 1n })],
    [
      'from a contract that the factory does not know',
      (d) => {
        d.chain.strangers.add(toHex(d.book));
        return d.signed();
      },
    ],
    [
      'from an address without a contract',
      ({ signed }) => signed({ chequebook: new Uint8Array(20).fill(3) }),
    ],
    [
      'on tokens that are set aside for another',
      (d) => {
        d.chain.book(d.book).hardDeposits = FUNDS;
        return d.signed();
      },
    ],
    [
      'with a signature that the contract would refuse',
      ({ signed }) => {
        const cheque = signed();
        const signature = cheque.signature.slice();
        signature[64] = signature[64]! + 4;
        return { ...cheque, signature };
      },
    ],
    ['with a short signature', ({ signed }) => ({ ...signed(), signature: new Uint8Array(64).fill(1) })],
    ['without a signature', ({ signed }) => ({ ...signed(), signature: new Uint8Array(65) })],
  ])('refuses a cheque %s, and then takes an honest one', async (_, make) => {
    const d = await debtor();
    expect(await d.send(make(d))).toBe('refused');
    expect(d.b.credited).toEqual([]);
    expect(d.b.services.settlements()).toEqual([]);
    expect(await counted(d.b, 'swap_cheques_rejected')).toBe(1);
    d.chain.strangers.clear();
    d.chain.book(d.book).hardDeposits = 0n;
    expect(await d.send(d.signed())).toBe('taken');
    expect(sums(d.b)).toEqual([50n]);
    expect(d.b.services.settlement(d.mallory.id)?.received).toBe(d.good.cumulativePayout);
  });

  test.each([
    ['that is no JSON', Uint8Array.of(1, 2, 3)],
    ['that is empty', new Uint8Array(0)],
    ['that is larger than any cheque', new Uint8Array(100_000).fill(0x20)],
    ['without its members', new TextEncoder().encode('{}')],
  ])('refuses a cheque %s, and its sender for a while', async (_, cheque) => {
    const { b, mallory, peer, send } = await debtor();
    expect(await send(cheque)).toBe('refused');
    expect(b.credited).toEqual([]);
    expect(await counted(b, 'swap_cheques_rejected')).toBe(1);
    expect(peer.closed.aborted).toBe(true);
    expect(b.host.blocklisted()).toMatchObject([
      {
        overlay: mallory.id,
        durationMs: 600_000,
        reason: expect.stringContaining('malformed cheque') as string,
      },
    ]);
  });

  test('looks at a few forged cheques, and then refuses their sender for a while', async () => {
    const { b, clock, mallory, peer, send, signed } = await debtor();
    let sent = 0;
    for (; !peer.closed.aborted && sent < 100; sent++) {
      expect(await send(signed({ beneficiary: new Uint8Array(20).fill(5) }))).toBe('refused');
      await clock.advance(2_000);
    }
    expect(sent).toBeLessThan(25);
    expect(b.host.blocklisted()).toMatchObject([{ overlay: mallory.id }]);
  });

  test('never credits a replayed or decreasing cheque, and credits an increasing one by its increase', async () => {
    const { b, send, signed, good } = await debtor();
    expect(await send(signed())).toBe('taken');
    expect(await send(signed())).toBe('refused');
    expect(await send(signed({ cumulativePayout: good.cumulativePayout - 1n }))).toBe('refused');
    expect(await send(signed({ cumulativePayout: good.cumulativePayout + RATE - 1n }))).toBe('refused');
    expect(await send(signed({ cumulativePayout: good.cumulativePayout + 3n * RATE - 1n }))).toBe('taken');
    expect(sums(b)).toEqual([50n, 2n]);
    expect(await counted(b, 'swap_cheques_rejected')).toBe(3);
  });

  test('keeps its deduction from only one of two cheques when it was asked for both at once', async () => {
    const { b, mallory, peer, signed, good, clock } = await debtor();
    const open = () => mallory.host.open(peer, SWAP.id, { signal: never });
    const streams = [await open(), await open()];
    for (const [n, stream] of streams.entries()) {
      const cumulativePayout = good.cumulativePayout + BigInt(n) * 10n * RATE;
      await stream.write(EmitCheque, { cheque: encodeCheque(signed({ cumulativePayout })) });
      expect(await outcome(stream.close(), clock)).toBe('done');
    }
    expect(sums(b)).toEqual([50n, 10n]);
  });

  test('accepts cheques of only one chequebook per peer, and from only one peer per chequebook', async () => {
    const d = await debtor();
    expect(await d.send(d.signed())).toBe('taken');
    const second = d.chain.deploy(d.key, FUNDS);
    expect(await d.send(d.signed({ chequebook: second }))).toBe('refused');
    const { host } = memoryNode({ network: d.network, n: 10, clock: d.clock });
    await host.start();
    const peer = await meet({ host }, d.b, d.clock);
    const stream = await host.open(peer, SWAP.id, { signal: never });
    await stream.write(EmitCheque, { cheque: encodeCheque(d.signed({ cumulativePayout: 100n * RATE })) });
    expect(await outcome(stream.close(), d.clock)).not.toBe('done');
    expect(sums(d.b)).toEqual([50n]);
  });

  test('counts what was already paid out towards the balance', async () => {
    const { send, signed, chain, book, b } = await debtor();
    expect(await send(signed({ cumulativePayout: FUNDS }))).toBe('taken');
    chain.book(book).balance = 1_000n * RATE;
    chain.book(book).paidOut.set(toHex(b.signer.address), FUNDS);
    expect(await send(signed({ cumulativePayout: FUNDS + 1_000n * RATE + 1n }))).toBe('refused');
    expect(await send(signed({ cumulativePayout: FUNDS + 1_000n * RATE }))).toBe('taken');
  });

  /** One look at a time; the block with a cashing comes after the `nth` at what is there or paid. */
  function cashAfterLook(nth: number, { b, chain, book }: Debtor, cashed: bigint): void {
    const answer = b.chain.call.bind(b.chain);
    const looks = [SWAP_FUNCTIONS.paidOut, SWAP_FUNCTIONS.liquidBalanceFor].map((name) => selectorOf(name));
    let seen = 0;
    const turns = new Lock();
    b.chain.call = (request, signal) =>
      turns.run(async () => {
        const answered = await answer(request, signal);
        if (looks.includes(request.data.slice(0, 10)) && ++seen === nth) {
          chain.book(book).balance -= cashed;
          chain.book(book).paidOut.set(toHex(b.signer.address), cashed);
        }
        return answered;
      });
  }

  test.each([1, 2, 3])(
    'refuses a cheque above the balance and accepts a covered one that is cashed while the chain is asked: after look %i',
    async (nth) => {
      for (const [above, expected] of [
        [1n, 'refused'],
        [0n, 'taken'],
      ] as const) {
        const d = await debtor();
        expect(await d.send(d.signed())).toBe('taken');
        cashAfterLook(nth, d, d.good.cumulativePayout);
        expect(await d.send(d.signed({ cumulativePayout: FUNDS + above }))).toBe(expected);
      }
    },
  );

  test.each(['isDown', 'isSilent'] as const)(
    'answers nothing while the chain %s, so that the cheque stays in doubt, and accepts it later',
    async (state) => {
      const { send, signed, b, clock, peer, mallory } = await debtor();
      b.chain[state] = true;
      const stream = await mallory.host.open(peer, SWAP.id, { signal: never });
      await stream.write(EmitCheque, { cheque: encodeCheque(signed()) });
      let end = 'pending';
      stream.close().then(
        () => (end = 'taken'),
        () => (end = 'reset'),
      );
      await clock.advance(PAYMENT_TIMEOUT_MS - 1);
      expect(end).toBe('pending');
      await clock.advance(1);
      expect(end).toBe('reset');
      b.chain[state] = false;
      expect(b.credited).toEqual([]);
      expect(await send(signed())).toBe('taken');
      expect(sums(b)).toEqual([50n]);
    },
  );

  test('announces no rates and accepts nothing while it has none', async () => {
    const parts = world();
    parts.chain.rates = { exchangeRate: 0n, deduction: 0n };
    const b = await swapNode(2, parts);
    const a = await swapNode(1, parts);
    const peer = await meet(a, b, parts.clock);
    const stream = await a.host.open(peer, SWAP.id, { signal: never });
    expect([...stream.headers]).toEqual([]);
    await stream.write(EmitCheque, { cheque: new Uint8Array(3) });
    expect(await outcome(stream.close(), parts.clock)).not.toBe('done');
    expect(await counted(b, 'swap_cheques_rejected')).toBe(1);
  });

  test('gives up a stream on which nothing or only half a message arrives', async () => {
    const { mallory, peer, clock, b, send, signed } = await debtor();
    const streams = [
      await mallory.host.open(peer, SWAP.id, { signal: never }),
      await mallory.host.open(peer, SWAP.id, { signal: never }),
    ];
    const ends = streams.map((stream) => outcome(stream.read(EmitCheque), clock));
    await clock.advance(PAYMENT_TIMEOUT_MS);
    for (const end of ends) expect(await end).toMatch(/.+/);
    expect(await send(signed())).toBe('taken');
    expect(sums(b)).toEqual([50n]);
  });

  test('serves a flood two at a time and credits each increase once', async () => {
    const { mallory, peer, clock, b, signed, good } = await debtor();
    const work = Array.from({ length: 50 }, async (_, n) => {
      const stream = await mallory.host.open(peer, SWAP.id, { signal: never });
      const cumulativePayout = good.cumulativePayout + BigInt(n % 5) * RATE;
      await stream.write(EmitCheque, { cheque: encodeCheque(signed({ cumulativePayout })) });
      await stream.close();
    });
    const ended = Promise.allSettled(work);
    await clock.advance(60_000);
    const taken = (await ended).filter(({ status }) => status === 'fulfilled');
    const last = b.services.settlement(mallory.id)!.received;
    expect(sums(b).reduce((sum, amount) => sum + amount, 0n)).toBe((last - DEDUCTION) / RATE);
    expect(taken.length).toBe(b.credited.length);
    expect(b.chain.calls).toBeLessThan(200);
  });
});

describe('a debt', () => {
  test('remains when its cheque is refused, and ends the connection when it grows; an honest cheque pays it', async () => {
    const parts = world();
    const { clock } = parts;
    let accounting: AccountingService | undefined;
    const b = await swapNode(2, parts, {
      accounting(host) {
        const deps = { host, clock, state: memoryRecords(), log: silentLogger(), announce: () => undefined };
        const refresh = () => Promise.reject(new Error('no refreshes here'));
        accounting = createAccounting(PRODUCTION, {
          ...deps,
          refresh,
          metrics: createMetrics({ prefix: 'svc' }),
        });
        return accounting;
      },
    });
    const mallory = memoryNode({ network: parts.network, n: 9, clock });
    await mallory.host.start();
    const peer = await meet(mallory, b, clock);
    const debtor = b.host.peer(toHex(mallory.host.overlay))!;
    const serve = () => accounting!.prepareDebit(debtor, 300_000n).apply();
    const balance = () => accounting!.balance(debtor.overlayHex)?.consumedBalance;
    const pay = async (cumulativePayout: bigint, key: Uint8Array) => {
      const cheque = { chequebook: book, beneficiary: b.signer.address, cumulativePayout };
      const stream = await mallory.host.open(peer, SWAP.id, { signal: never });
      await stream.write(EmitCheque, {
        cheque: encodeCheque(signCheque(cheque, createSigner(key), CHAIN_ID)),
      });
      return outcome(stream.close(), clock);
    };
    const book = parts.chain.deploy(testKey(9), FUNDS);
    for (let n = 0; n < 30; n++) serve();
    expect(await pay(9_000_000n * RATE + DEDUCTION, testKey(9))).toBe('done');
    expect(balance()).toBe(0n);
    for (let n = 0; n < 30; n++) serve();
    expect(await pay(20_000_000n * RATE, testKey(8))).not.toBe('done');
    expect(balance()).toBe(9_000_000n);
    for (let n = 0; n < 100 && !debtor.closed.aborted; n++) {
      serve();
      await clock.settle();
    }
    expect(debtor.closed.aborted).toBe(true);
    expect(b.host.blocklisted()).toMatchObject([
      { overlay: debtor.overlayHex, reason: 'disconnect threshold exceeded' },
    ]);
  });
});

describe('a peer that moved to another overlay', () => {
  test('keeps its cheques and its chequebook; a second deduction is possible', async () => {
    const parts = world();
    const a = await swapNode(1, parts);
    const party = { overlayHex: 'aa'.repeat(32), ethereum: createSigner(testKey(2)).address };
    const book = parts.chain.deploy(testKey(2), FUNDS);
    const cheque = signCheque(
      { chequebook: book, beneficiary: a.signer.address, cumulativePayout: 77n },
      createSigner(testKey(2)),
      CHAIN_ID,
    );
    await a.services.cheques.recordReceived(party, cheque, { deducted: true });
    const b = await swapNode(2, parts, { chequebook: book });
    await meet(a, b, parts.clock);
    expect(a.services.settlements()).toEqual([{ peer: b.id, received: 77n, sent: 0n }]);
    expect(a.services.cheques.hasDeductedFor(party.overlayHex)).toBe(true);
    expect(a.services.cheques.hasDeductedFor(b.id)).toBe(false);
    expect(a.services.cheques.mayPayFrom(b.id, book)).toBe(true);
    expect(a.services.cheques.mayPayFrom('cc'.repeat(32), book)).toBe(false);
  });
});
