import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { PRODUCTION } from '../protocols/exchange-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { SwapChain } from '../swap/swap-chain.ts';
import { type Events, FATES, type Habits, type Order, Trader } from './economy.ts';
import { supplyOf } from './trader-money.ts';

const NODES = 4;
const TERMS = {
  ...PRODUCTION,
  refreshRate: 2_000_000n,
  minimumPayment: 400_000n,
  paymentRetryMs: 1_500,
  growthStepSeconds: 3n,
  growthLinearSeconds: 9n,
};
/** How long an honest node waits before it connects again, milliseconds. */
const RECONNECT_MS = 8_000;
/** With the pause after one that failed. */
const PAYMENT_MS = 7_000;
const RATE = TERMS.refreshRate;
const DEDUCTION = 100n;

const node = fc.nat(NODES - 1);

const order: fc.Arbitrary<Order> = fc.record({
  price: fc.bigInt({ min: 10_000n, max: 320_000n }),
  fate: fc.constantFrom(...FATES, 'delivered', 'delivered', 'delivered', 'delivered'),
  delayMs: fc.oneof(fc.constant(0), fc.nat(300)),
});

const habits: fc.Arbitrary<Habits> = fc.record({
  endpoint: fc.record({
    state: fc.constantFrom('up', 'up', 'up', 'up', 'down', 'silent'),
    // The slowest answers come when the payer has nearly given up.
    latencyMs: fc.oneof(fc.constant(0), fc.nat(300), fc.integer({ min: 1_500, max: 2_600 })),
  }),
  refreshMs: fc.oneof(fc.constant(0), fc.nat(500)),
});

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('trade' as const),
      // Debts of one link do reach the limits.
      from: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: node }),
      to: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: node }),
      orders: fc.array(order, { minLength: 10, maxLength: 100, size: 'max' }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      // The longest outlasts a failed payment and the pause after it.
      ms: fc.oneof(
        fc.nat(50),
        fc.nat(1_000),
        fc.integer({ min: 1_000, max: 2_000 }),
        fc.constant(PAYMENT_MS),
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('habits' as const),
      of: fc.oneof(fc.constantFrom(0, 1), node),
      habits,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('disconnect' as const),
      from: fc.oneof(fc.constant(0), node),
      to: fc.oneof(fc.constant(1), node),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('restart' as const), of: node, killed: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('money' as const),
      of: node,
      from: node,
      action: fc.constantFrom('cash' as const, 'cash' as const, 'deposit' as const, 'withdraw' as const),
      share: fc.integer({ min: 1, max: 110 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const SOUND: Habits = { endpoint: { state: 'up', latencyMs: 10 }, refreshMs: 0 };
const MUCH: Order = { price: 300_000n, fate: 'delivered', delayMs: 0 };

const outage: fc.Arbitrary<Step[]> = fc
  .record({
    from: node,
    to: node,
    state: fc.constantFrom('down' as const, 'silent' as const),
    isCut: fc.boolean(),
  })
  .map(({ from, to, state, isCut }) => {
    const trade = { kind: 'trade' as const, from, to, orders: Array.from({ length: 30 }, () => MUCH) };
    const wait = (ms: number) => ({ kind: 'wait' as const, ms });
    const habits = (endpoint: Habits['endpoint']) => {
      return { kind: 'habits' as const, of: to, habits: { ...SOUND, endpoint } };
    };
    const traded = [trade, wait(500), trade, wait(600), trade];
    const before = [habits({ state, latencyMs: 0 }), ...traded, wait(PAYMENT_MS)];
    const cut: Step[] = isCut ? [{ kind: 'disconnect', from, to }] : [];
    const after = [habits(SOUND.endpoint), ...traded, wait(PAYMENT_MS)];
    const back = { ...trade, from: to, to: from };
    return [...before, ...cut, ...after, back, wait(1_000)];
  });
const steps = fc.oneof({ weight: 20, arbitrary: step.map((one) => [one]) }, { weight: 1, arbitrary: outage });

/** Every node is honest; after every step its books are compared with what really happened. */
class Economy {
  readonly #clock = new ManualClock();
  readonly #chain = new SwapChain();
  readonly #traders: Trader[];
  readonly #supply: bigint;
  #cut = 0;

  constructor(latencyMs: number, events: Events) {
    const parts = { clock: this.#clock, network: new MemoryNetwork(), chain: this.#chain };
    const given = { terms: TERMS, ...parts, latencyMs, events };
    this.#traders = Array.from({ length: NODES }, (_, i) => new Trader(i + 1, given));
    this.#supply = supplyOf(this.#chain);
  }

  async start(habits: readonly Habits[]): Promise<void> {
    for (const trader of this.#traders) await trader.start();
    for (const [one, other] of this.#pairs()) await this.#join(one, other);
    for (const [i, trader] of this.#traders.entries()) trader.habits = habits[i]!;
  }

  async run(step: Step): Promise<void> {
    if (step.kind === 'wait') await this.#clock.advance(step.ms);
    else if (step.kind === 'habits') this.#trader(step.of).habits = step.habits;
    else if (step.kind === 'trade') this.#trade(this.#trader(step.from), this.#trader(step.to), step.orders);
    else if (step.kind === 'money')
      void this.#trader(step.of).act(step.action, this.#trader(step.from), step.share);
    else if (step.kind === 'restart') await this.#restart(this.#trader(step.of), step.killed);
    else await this.#part(this.#trader(step.from), this.#trader(step.to));
    await this.#clock.settle();
  }

  async rest(): Promise<void> {
    for (const trader of this.#traders) trader.habits = SOUND;
    await this.#clock.advance(2 * PAYMENT_MS);
    for (const [one, other] of this.#pairs()) {
      void one.act('deposit', other, 100);
      void other.act('deposit', one, 100);
      await this.#part(one, other);
    }
    this.check(false);
    for (const [one, other] of this.#pairs()) {
      if (this.#paidTooMuch(one, other)) await this.#buyMuch(one, other);
      if (this.#paidTooMuch(other, one)) await this.#buyMuch(other, one);
    }
    await this.#clock.advance(2 * PAYMENT_MS);
    this.check(true);
    for (const [one, other] of this.#pairs()) {
      void one.act('cash', other, 100);
      void other.act('cash', one, 100);
    }
    await this.#clock.advance(PAYMENT_MS);
    this.check(true);
    this.#checkCashed();
  }

  #paidTooMuch(a: Trader, b: Trader): boolean {
    return b.session(b.link(a)!).received > a.session(a.link(b)!).paid;
  }

  /** More than time alone can pay: a cheque has to settle what was overpaid. */
  async #buyMuch(from: Trader, to: Trader): Promise<void> {
    for (let round = 0; round < 6; round++) {
      this.#trade(
        from,
        to,
        Array.from({ length: 50 }, () => MUCH),
      );
      await this.#clock.advance(500);
    }
  }

  #trader(n: number): Trader {
    return this.#traders[n]!;
  }

  #pairs(): [Trader, Trader][] {
    return this.#traders.flatMap((one, i) =>
      this.#traders.slice(i + 1).map((other): [Trader, Trader] => [one, other]),
    );
  }

  async #join(one: Trader, other: Trader): Promise<void> {
    const joined = one.connect(other);
    await this.#clock.advance(1_000);
    await joined;
  }

  #trade(from: Trader, to: Trader, orders: readonly Order[]): void {
    const peer = from.link(to);
    if (peer === undefined) return;
    let { ghostBalance: ghosts } = to.books(from);
    for (const one of orders) {
      // An honest client takes what it has ordered.
      if (one.fate === 'broken off') ghosts += one.price;
      const fate = ghosts > 5_000_000n && one.fate === 'broken off' ? 'not found' : one.fate;
      void from.order(peer, { ...one, fate });
    }
  }

  async #part(one: Trader, other: Trader): Promise<void> {
    if (one.link(other) === undefined) return;
    this.#cut += 2;
    await one.host.disconnect(other.id, 'cut');
    await this.#clock.advance(RECONNECT_MS);
    await this.#join(one, other);
  }

  async #restart(one: Trader, killed: boolean): Promise<void> {
    const others = this.#traders.filter((other) => one.link(other) !== undefined);
    this.#cut += 2 * others.length;
    const stopped = killed ? one.kill() : one.stop();
    await this.#clock.advance(RECONNECT_MS + PAYMENT_MS);
    await stopped;
    // It does not start without the chain.
    one.habits = SOUND;
    const started = one.start();
    await this.#clock.advance(1_000);
    await started;
    for (const other of others) await this.#join(one, other);
  }

  check(atRest: boolean): void {
    expect(this.#traders.flatMap((trader) => trader.host.blocklisted())).toEqual([]);
    expect(this.#traders.flatMap((trader) => trader.losses)).toHaveLength(this.#cut);
    let sum = 0n;
    let inFlight = 0n;
    for (const [one, other] of this.#pairs()) {
      for (const [a, b] of [
        [one, other],
        [other, one],
      ] as const)
        sum += this.#checkEnd(a, b);
      inFlight += this.#checkLink(one, other, atRest) + this.#checkLink(other, one, atRest);
    }
    expect(sum).toBe(inFlight);
    expect(supplyOf(this.#chain)).toBe(this.#supply);
    for (const trader of this.#traders) this.#checkBook(trader);
  }

  /** @returns the balance of `a` */
  #checkEnd(a: Trader, b: Trader): bigint {
    const peer = a.link(b);
    expect(peer).toBeDefined();
    const session = a.session(peer!);
    const row = a.books(b);
    // What was paid ahead is under way until it is owed.
    const balance = row.consumedBalance - row.surplusBalance;
    expect({
      balance,
      reserved: row.reservedBalance,
      shadow: row.shadowReservedBalance,
      ghost: row.ghostBalance,
    }).toEqual({
      balance: session.balance,
      reserved: session.credits,
      shadow: session.debits + session.paying,
      ghost: session.ghost,
    });
    expect(row.surplusBalance).toBeGreaterThanOrEqual(0n);
    return balance;
  }

  /** Whatever is promised is there. */
  #checkBook(trader: Trader): void {
    const others = this.#traders.filter((other) => other !== trader);
    const open = others.map((other) => {
      const { payout, cashed } = this.#cheques(trader, other);
      return payout - cashed;
    });
    expect(trader.money.book.balance).toBeGreaterThanOrEqual(open.reduce((sum, amount) => sum + amount, 0n));
    expect(trader.money.refused).toEqual([]);
  }

  /** Payouts of `a` to `b`, base units. */
  #cheques(a: Trader, b: Trader) {
    const issued = a.money.issuedTo(a.link(b)!);
    const payout = issued?.cheque.cumulativePayout ?? 0n;
    return { payout, unconfirmed: issued?.unconfirmed ?? 0n, ...b.money.receivedFrom(a.money) };
  }

  #checkCheques(a: Trader, b: Trader, atRest: boolean): void {
    const { payout, unconfirmed, received, cashed } = this.#cheques(a, b);
    expect(payout).toBeGreaterThanOrEqual(received);
    expect(payout - received).toBeLessThanOrEqual(unconfirmed === 0n ? 0n : unconfirmed + DEDUCTION);
    expect(received).toBeGreaterThanOrEqual(cashed);
    expect(a.money.services.settlement(b.id)?.sent ?? 0n).toBe(payout);
    expect(b.money.services.settlement(a.id)?.received ?? 0n).toBe(received);
    if (atRest) expect([unconfirmed, received]).toEqual([0n, payout]);
  }

  #checkCashed(): void {
    for (const [one, other] of this.#pairs()) {
      for (const { payout, cashed } of [this.#cheques(one, other), this.#cheques(other, one)])
        expect(cashed).toBe(payout);
    }
  }

  /** @returns what one of them has counted alone so far */
  #checkLink(a: Trader, b: Trader, atRest: boolean): bigint {
    const [client, server] = [a.session(a.link(b)!), b.session(b.link(a)!)];
    const goods = server.given - client.used;
    const refreshes = server.refreshReceived - client.refreshSent;
    const payments = server.received - client.paid;
    // The client holds a reservation until the server has counted.
    for (const amount of [goods, refreshes, payments]) expect(amount).toBeGreaterThanOrEqual(0n);
    expect(goods).toBeLessThanOrEqual(client.credits);
    expect(payments).toBeLessThanOrEqual(client.paying + client.doubt);
    this.#checkCheques(a, b, atRest);
    if (client.refreshes === 0) expect(refreshes).toBe(0n);
    if (atRest)
      expect([goods, refreshes, payments, client.credits, client.paying]).toEqual([0n, 0n, 0n, 0n, 0n]);
    const [owing, owed] = [a.books(b), b.books(a)];
    const debt = owing.reservedBalance - (owing.consumedBalance < 0n ? owing.consumedBalance : 0n);
    expect(debt).toBeLessThanOrEqual(owed.thresholdGiven + RATE);
    // The creditor has paid it while its debt went down: nothing asked for it.
    const asked = owed.consumedBalance - owing.surplusBalance;
    expect(asked).toBeLessThanOrEqual(owed.thresholdGiven + RATE);
    const [sent, received] = [
      a.pseudosettle.settlement(b.id)?.sent,
      b.pseudosettle.settlement(a.id)?.received,
    ];
    expect(received ?? 0n).toBeGreaterThanOrEqual(sent ?? 0n);
    return goods - refreshes - payments;
  }
}

test('in an honest cluster the books of both ends of every link agree after every step, whatever happens', async () => {
  const events: Events = {
    refused: 0,
    refreshed: 0,
    paid: 0,
    paymentsFailed: 0,
    cashed: 0,
    deposited: 0,
    withdrawn: 0,
    grown: 0,
    brokenOff: 0,
  };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 40, 250),
      fc.array(habits, { minLength: NODES, maxLength: NODES }),
      fc.array(steps, { minLength: 25, maxLength: 50 }).map((all) => all.flat()),
      async (latencyMs, habitsAtFirst, program) => {
        const economy = new Economy(latencyMs, events);
        await economy.start(habitsAtFirst);
        for (const one of program) {
          await economy.run(one);
          economy.check(false);
        }
        await economy.rest();
      },
    ),
    { numRuns: 12, endOnFailure: true },
  );
  for (const [event, count] of Object.entries(events)) expect(count, event).toBeGreaterThan(0);
});
