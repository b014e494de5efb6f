import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Credit, Debit } from '../../../node/accounting/ports.ts';
import { acceptedAmount, unixSeconds } from '../../../node/protocols/pseudosettle/rules.ts';
import { PRODUCTION } from '../protocols/exchange-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { type Bookkeeper, bookkeeper, type FakePeer, fakePeer } from './fake-peers.ts';

/** One end of a link: its books, and how it knows the other end. */
interface End {
  readonly books: Bookkeeper;
  readonly other: FakePeer;
  lastStamp: bigint;
}

type Step =
  /** One end asks the other for some chunks, which are delivered or not found. */
  | {
      readonly kind: 'ask';
      readonly from: 0 | 1;
      readonly count: number;
      readonly po: number;
      readonly served: boolean;
    }
  /** Some open exchanges move on, the oldest or the newest. */
  | { readonly kind: 'arrive'; readonly count: number; readonly newestFirst: boolean }
  | { readonly kind: 'wait'; readonly ms: number };

/** Leans to one side, so that debts do reach the limits. */
const asker: fc.Arbitrary<0 | 1> = fc.constantFrom(0, 0, 1);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      from: asker,
      count: fc.integer({ min: 1, max: 60 }),
      po: fc.integer({ min: 0, max: 8 }),
      served: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('arrive' as const),
      count: fc.integer({ min: 1, max: 100 }),
      newestFirst: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 400 }) }),
  },
);

test('whatever two honest nodes ask of each other, what one counts as owed the other counts as owing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 200, maxLength: 600 }), async (steps) => {
      const link = new Link();
      for (const one of steps) await link.run(one);
      await link.rest();
      const [a, b] = link.ends;
      expect([...a.books.blocklisted, ...b.books.blocklisted]).toEqual([]);
      expect(balance(a)).toBe(-balance(b));
      expect(reserved(a)).toEqual([0n, 0n]);
      expect(reserved(b)).toEqual([0n, 0n]);
    }),
    { numRuns: 60 },
  );
});

function balance({ books, other }: End): bigint {
  return books.accounting.balance(other.id)?.consumedBalance ?? 0n;
}

function reserved({ books, other }: End): bigint[] {
  const row = books.accounting.balance(other.id);
  return [row?.reservedBalance ?? 0n, row?.shadowReservedBalance ?? 0n];
}

/** A request on its way: it reaches the serving side, which reserves and then counts, and at last the asking side does. */
interface Exchange {
  readonly credit: Credit;
  /** Undefined when the serving side has nothing to deliver. */
  readonly serve: (() => Debit) | undefined;
  debit: Debit | undefined;
  written: boolean;
}

class Link {
  readonly #clock = new ManualClock();
  readonly ends: readonly [End, End];
  #open: Exchange[] = [];

  constructor() {
    this.ends = [this.#end(1), this.#end(2)];
    this.#settle(0);
    this.#settle(1);
  }

  #end(n: number): End {
    const books = bookkeeper({ clock: this.#clock });
    const other = fakePeer(n);
    books.accounting.connected(other);
    return { books, other, lastStamp: 0n };
  }

  /** Refreshes of end `from` take half a second there and back. */
  #settle(from: 0 | 1): void {
    const debtor = this.ends[from];
    const creditor = this.ends[from === 0 ? 1 : 0];
    debtor.books.answer = async (_peer, attempted) => {
      await this.#clock.sleep(250);
      const now = unixSeconds(this.#clock.now());
      const elapsedSeconds = now - creditor.lastStamp;
      expect(elapsedSeconds).not.toBe(0n);
      const debt = creditor.books.accounting.payableDebt(creditor.other);
      const accepted = acceptedAmount({ attempted, debt, elapsedSeconds, rate: PRODUCTION.refreshRate });
      creditor.lastStamp = now;
      creditor.books.accounting.refreshmentReceived(creditor.other, accepted);
      await this.#clock.sleep(250);
      return { accepted, allegedSeconds: elapsedSeconds };
    };
  }

  async run(one: Step): Promise<void> {
    if (one.kind === 'wait') await this.#clock.advance(one.ms);
    else if (one.kind === 'arrive') this.#arrive(one.count, one.newestFirst);
    else for (let n = 0; n < one.count; n++) this.#ask(one);
    await this.#clock.settle();
  }

  #ask({ from, po, served }: Extract<Step, { kind: 'ask' }>): void {
    const asking = this.ends[from];
    const serving = this.ends[from === 0 ? 1 : 0];
    const price = BigInt(32 - po) * 10_000n;
    const credit = creditOf(asking, price);
    if (credit === undefined) return;
    const serve = served ? () => serving.books.accounting.prepareDebit(serving.other, price) : undefined;
    this.#open.push({ credit, serve, debit: undefined, written: false });
  }

  /** Moves some exchanges one step on. */
  #arrive(count: number, newestFirst: boolean): void {
    const moving = newestFirst ? this.#open.splice(-count) : this.#open.splice(0, count);
    for (const exchange of moving) {
      const { credit, serve, debit, written } = exchange;
      if (serve === undefined) credit.release();
      else if (written) credit.apply();
      else {
        if (debit === undefined) exchange.debit = serve();
        else {
          debit.apply();
          exchange.written = true;
        }
        this.#open.push(exchange);
      }
    }
  }

  async rest(): Promise<void> {
    while (this.#open.length > 0) this.#arrive(this.#open.length, false);
    await this.#clock.advance(3_000);
  }
}

/** Undefined when the asking side has to wait. */
function creditOf({ books, other }: End, price: bigint): Credit | undefined {
  try {
    return books.accounting.prepareCredit(other, price, true);
  } catch (error) {
    expect(error).toMatchObject({ code: 'OVERDRAFT' });
    return undefined;
  }
}
