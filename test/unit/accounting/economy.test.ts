import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { PRODUCTION } from '../protocols/exchange-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { type Events, FATES, type Order, type PaymentHabits, Trader } from './economy.ts';

const NODES = 4;
/** Thresholds that grow within a run. */
const TERMS = { ...PRODUCTION, growthStepSeconds: 3n, growthLinearSeconds: 9n };
/** An honest node leaves its peers some time before it connects again, milliseconds. */
const RECONNECT_MS = 5_000;
/** A slow payment: it outlasts a reconnect. */
const BOOKING_MS = RECONNECT_MS + 2_000;
const RATE = TERMS.refreshRate;

const node = fc.nat(NODES - 1);

const order: fc.Arbitrary<Order> = fc.record({
  price: fc.bigInt({ min: 10_000n, max: 320_000n }),
  fate: fc.constantFrom(...FATES, 'delivered', 'delivered', 'delivered', 'delivered'),
  delayMs: fc.oneof(fc.constant(0), fc.nat(300)),
});

const habits: fc.Arbitrary<PaymentHabits> = fc.record({
  fail: fc.constantFrom(false, true),
  cashMs: fc.nat(600),
  bookMs: fc.oneof(fc.nat(200), fc.constant(BOOKING_MS)),
  refreshMs: fc.oneof(fc.constant(0), fc.nat(500)),
});

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('trade' as const),
      // Leans to one link, so that its debts do reach the limits.
      from: fc.oneof(fc.constantFrom(0, 0, 1), node),
      to: fc.oneof(fc.constantFrom(0, 1), node),
      orders: fc.array(order, { minLength: 10, maxLength: 100, size: 'max' }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(50), fc.nat(1_000), fc.integer({ min: 1_000, max: 2_000 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('habits' as const), of: node, habits }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('disconnect' as const),
      from: fc.oneof(fc.constant(0), node),
      to: fc.oneof(fc.constant(1), node),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), of: node }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A cluster in which everybody is honest; after every step its books are compared with what really happened. */
class Economy {
  readonly #clock = new ManualClock();
  readonly #traders: Trader[];
  /** Losses that the test itself has caused. */
  #cut = 0;

  constructor(latencyMs: number, habits: readonly PaymentHabits[], events: Events) {
    const given = { terms: TERMS, clock: this.#clock, network: new MemoryNetwork(), latencyMs, events };
    this.#traders = Array.from({ length: NODES }, (_, i) => new Trader(i + 1, given));
    for (const [i, trader] of this.#traders.entries()) trader.habits = habits[i]!;
  }

  async start(): Promise<void> {
    for (const trader of this.#traders) await trader.start();
    for (const [one, other] of this.#pairs()) await this.#join(one, other);
  }

  async run(step: Step): Promise<void> {
    if (step.kind === 'wait') await this.#clock.advance(step.ms);
    else if (step.kind === 'habits') this.#trader(step.of).habits = step.habits;
    else if (step.kind === 'trade') this.#trade(this.#trader(step.from), this.#trader(step.to), step.orders);
    else if (step.kind === 'restart') await this.#restart(this.#trader(step.of));
    else await this.#part(this.#trader(step.from), this.#trader(step.to));
    await this.#clock.settle();
  }

  /** Everything in flight arrives. */
  async rest(): Promise<void> {
    await this.#clock.advance(10_000);
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
      // An honest client takes what it has ordered, as a rule.
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

  async #restart(one: Trader): Promise<void> {
    const others = this.#traders.filter((other) => one.link(other) !== undefined);
    this.#cut += 2 * others.length;
    const stopped = one.stop();
    // A node that stops waits for its payments.
    await this.#clock.advance(RECONNECT_MS + BOOKING_MS);
    await stopped;
    await one.start();
    for (const other of others) await this.#join(one, other);
  }

  /** Books and facts of every link. */
  check(atRest: boolean): void {
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
    const losses = this.#traders.flatMap((trader) => trader.losses);
    expect(losses).toHaveLength(this.#cut);
    expect(this.#traders.flatMap((trader) => trader.host.blocklisted())).toEqual([]);
  }

  /** The books of `a` about `b` say what `a` has done and heard. @returns its balance */
  #checkEnd(a: Trader, b: Trader): bigint {
    const peer = a.link(b);
    expect(peer).toBeDefined();
    const session = a.session(peer!);
    const row = a.books(b);
    expect({
      balance: row.balance,
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
    return row.balance;
  }

  /** What `a` got from `b` as both see it. @returns what one of them has counted alone so far */
  #checkLink(a: Trader, b: Trader, atRest: boolean): bigint {
    const [client, server] = [a.session(a.link(b)!), b.session(b.link(a)!)];
    const goods = server.given - client.used;
    const refreshes = server.refreshReceived - client.refreshSent;
    const payments = server.received - client.paid;
    // The server counts first, always, and the client holds a reservation until it does.
    for (const amount of [goods, refreshes, payments]) expect(amount).toBeGreaterThanOrEqual(0n);
    expect(goods).toBeLessThanOrEqual(client.credits);
    expect(payments).toBeLessThanOrEqual(client.paying);
    if (client.refreshes === 0) expect(refreshes).toBe(0n);
    if (atRest)
      expect([goods, refreshes, payments, client.credits, client.paying]).toEqual([0n, 0n, 0n, 0n, 0n]);
    const [owing, owed] = [a.books(b), b.books(a)];
    const debt = owing.reservedBalance - (owing.consumedBalance < 0n ? owing.consumedBalance : 0n);
    expect(debt).toBeLessThanOrEqual(owed.thresholdGiven + RATE);
    expect(owed.consumedBalance).toBeLessThanOrEqual(owed.thresholdGiven + RATE);
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
    grown: 0,
    brokenOff: 0,
  };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 40, 250),
      fc.array(habits, { minLength: NODES, maxLength: NODES }),
      fc.array(step, { minLength: 30, maxLength: 60 }),
      async (latencyMs, payments, steps) => {
        const economy = new Economy(latencyMs, payments, events);
        await economy.start();
        for (const one of steps) {
          await economy.run(one);
          economy.check(false);
        }
        await economy.rest();
        economy.check(true);
      },
    ),
    { numRuns: 15, endOnFailure: true },
  );
  for (const [event, count] of Object.entries(events)) expect(count, event).toBeGreaterThan(0);
});
