/**
 * Nodes that trade over memory hosts, one virtual clock and a simulated chain: real accounting, time settlement, pricing and
 * cheques, and services whose price and fate the test chooses. Beside the books stands what each session really exchanged.
 */
import { type AccountingService, createAccounting } from '../../../node/accounting/accounting.ts';
import type { PeerAccount } from '../../../node/accounting/ports.ts';
import type { PaymentTerms } from '../../../node/accounting/terms.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { MessageTable } from '../../../node/p2p/codec/message.ts';
import type { Host, MessageStream, Peer, ProtocolSpec } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { decodeAmount, encodeAmount } from '../../../node/protocols/amounts.ts';
import { createPricing } from '../../../node/protocols/pricing/pricing.ts';
import { createPseudosettle, type Pseudosettle } from '../../../node/protocols/pseudosettle/pseudosettle.ts';
import type { SwapProtocol } from '../../../node/protocols/swap/swap.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import { memoryNode, memoryRecords } from '../p2p/memory-nodes.ts';
import { delayed, never } from '../protocols/exchange-nodes.ts';
import type { ManualClock } from '../protocols/manual-clock.ts';
import type { SwapChain } from '../swap/swap-chain.ts';
import { type Endpoint, Life, Money, type MoneyAction } from './trader-money.ts';

const TRADE: ProtocolSpec = { id: '/swarm/trade/1.0.0/trade', inboundStreamsMax: 10_000 };
const Order = {
  price: [1, 'bytes'],
  fate: [2, 'uint32'],
  delayMs: [3, 'uint32'],
} as const satisfies MessageTable;
const Goods = { price: [1, 'bytes'] } as const satisfies MessageTable;

/** The server breaks an order off after it has reserved the price. */
export const FATES = ['delivered', 'not found', 'broken off'] as const;
type Fate = (typeof FATES)[number];

/** What was really exchanged in one session of one node, accounting units. */
class Session {
  given = 0n;
  used = 0n;
  refreshSent = 0n;
  refreshReceived = 0n;
  paid = 0n;
  received = 0n;
  /** Worth of a cheque that may have been received without a sign of it. */
  doubt = 0n;
  credits = 0n;
  debits = 0n;
  paying = 0n;
  ghost = 0n;
  refreshes = 0;

  /** Positive when the peer owes. */
  get balance(): bigint {
    const sent = this.given + this.refreshSent + this.paid;
    return sent - this.used - this.refreshReceived - this.received;
  }
}

export interface Order {
  readonly price: bigint;
  readonly fate: Fate;
  /** The server takes it, and the client between delivery and booking. */
  readonly delayMs: number;
}

/** Shows that a test has tried what it says. */
export interface Events {
  refused: number;
  refreshed: number;
  paid: number;
  paymentsFailed: number;
  cashed: number;
  deposited: number;
  withdrawn: number;
  grown: number;
  brokenOff: number;
}

export interface Habits {
  readonly endpoint: Endpoint;
  readonly refreshMs: number;
}

interface World {
  readonly terms: PaymentTerms;
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly chain: SwapChain;
  readonly latencyMs: number;
  readonly events: Events;
}

export class Trader {
  readonly #n: number;
  readonly #world: World;
  readonly #disk = new Map<string, KeyValueStore>();
  readonly #sessions = new Map<Peer, Session>();
  #life = new Life();
  #refreshMs = 0;
  readonly losses: string[] = [];
  readonly money: Money;
  host!: Host;
  accounting!: AccountingService;
  pseudosettle!: Pseudosettle;
  #swap!: SwapProtocol;

  constructor(n: number, world: World) {
    this.#n = n;
    this.#world = world;
    this.money = new Money(n, world);
  }

  set habits({ endpoint, refreshMs }: Habits) {
    this.money.endpoint = endpoint;
    this.#refreshMs = refreshMs;
  }

  get id(): string {
    return Buffer.from(this.host.overlay).toString('hex');
  }

  /** Memory is new, the disk is not. */
  async start(): Promise<void> {
    const { terms, clock, network, latencyMs, events } = this.#world;
    const life = new Life();
    const { host: wire } = memoryNode({ network, n: this.#n, clock, state: this.#state('p2p') });
    const host = delayed(wire, latencyMs, clock);
    const env = { host, clock, log: silentLogger(), metrics: createMetrics({ prefix: 'svc' }) };
    const accounting = createAccounting(terms, {
      ...env,
      state: life.records(this.#state('accounting')),
      refresh: (peer, amount) => this.#refresh(peer, amount),
      pay: (peer, amount) => this.#pay(peer, amount),
      inDoubt: (peer) => this.#swap.inDoubt(peer),
      announce: (peer) => {
        events.grown++;
        pricing.announce(peer, peer.closed).catch((error: unknown) => {
          if (!peer.closed.aborted) throw error;
        });
      },
    });
    const pseudosettle = createPseudosettle(terms, {
      ...env,
      state: life.records(this.#state('pseudosettle')),
      accounting: {
        connected: (peer) => accounting.connected(peer),
        disconnected: (peer) => accounting.disconnected(peer),
        payableDebt: (peer) => accounting.payableDebt(peer),
        refreshmentReceived: (peer, amount) => {
          this.session(peer).refreshReceived += amount;
          accounting.refreshmentReceived(peer, amount);
        },
      },
    });
    const pricing = createPricing(terms, { ...env, accounting });
    wire.onConnected((peer) => void this.session(peer));
    const { services, protocol } = this.money.process(life, {
      ...env,
      state: life.records(this.#state('swap')),
      accounting: {
        paymentReceived: (peer, amount) => {
          this.session(peer).received += amount;
          accounting.paymentReceived(peer, amount);
        },
        paidAhead: (peer, amount) => accounting.paidAhead(peer, amount),
      },
    });
    wire.onDisconnected((_peer, reason) => void this.losses.push(reason));
    wire.handle(TRADE, (stream) => this.#serve(stream));
    this.#life = life;
    this.#swap = protocol;
    this.host = host;
    this.accounting = accounting;
    this.pseudosettle = pseudosettle;
    await services.start(never);
    await wire.start();
  }

  async stop(): Promise<void> {
    await this.host.stop();
    await this.accounting.stop();
    await this.money.services.stop();
  }

  async kill(): Promise<void> {
    this.#life.end();
    await this.host.stop();
    await this.money.services.stop();
  }

  async connect(other: Trader): Promise<void> {
    await this.host.connect([other.host.underlays()[0] as string], never);
  }

  /** Only if both ends have it. */
  link(other: Trader): Peer | undefined {
    const there = other.host.peer(this.id);
    return there === undefined ? undefined : this.host.peer(other.id);
  }

  session(peer: Peer): Session {
    let session = this.#sessions.get(peer);
    if (session === undefined) {
      session = new Session();
      session.doubt = this.#inDoubt(peer);
      this.#sessions.set(peer, session);
    }
    return session;
  }

  books(other: Trader): PeerAccount {
    const row = this.accounting.balance(other.id);
    if (row === undefined) throw new Error('no account');
    return row;
  }

  /** Silent when accounting refuses, or when the peer leaves. */
  async order(peer: Peer, order: Order): Promise<void> {
    let credit: ReturnType<AccountingService['prepareCredit']>;
    try {
      credit = this.accounting.prepareCredit(peer, order.price, true);
    } catch {
      this.#world.events.refused++;
      return;
    }
    const session = this.session(peer);
    session.credits += order.price;
    try {
      const stream = await this.host.open(peer, TRADE.id, {});
      await stream.write(Order, {
        ...order,
        price: encodeAmount(order.price),
        fate: FATES.indexOf(order.fate),
      });
      const goods = await stream.read(Goods);
      await this.#world.clock.sleep(order.delayMs);
      if (decodeAmount(goods.price) === order.price) {
        credit.apply();
        session.used += order.price;
      }
    } catch (error) {
      if (order.fate !== 'broken off' && !peer.closed.aborted) throw error;
    } finally {
      credit.release();
      session.credits -= order.price;
    }
  }

  async #serve(stream: MessageStream): Promise<void> {
    const { peer } = stream;
    const order = await stream.read(Order);
    const price = decodeAmount(order.price) ?? 0n;
    const session = this.session(peer);
    if (FATES[order.fate] === 'not found') {
      await stream.write(Goods, {});
      return;
    }
    const debit = this.accounting.prepareDebit(peer, price);
    session.debits += price;
    try {
      await this.#world.clock.sleep(order.delayMs);
      if (FATES[order.fate] === 'broken off') {
        this.#world.events.brokenOff++;
        throw new Error('broken off');
      }
      await stream.write(Goods, { price: order.price });
      debit.apply();
      session.given += price;
    } catch (error) {
      session.ghost += price;
      throw error;
    } finally {
      debit.release();
      session.debits -= price;
    }
  }

  async #refresh(peer: Peer, amount: bigint) {
    const session = this.session(peer);
    session.refreshes++;
    try {
      await this.#world.clock.sleep(this.#refreshMs);
      const refreshment = await this.pseudosettle.settle(peer, amount);
      session.refreshSent += refreshment.accepted;
      this.#world.events.refreshed++;
      return refreshment;
    } finally {
      session.refreshes--;
    }
  }

  async #pay(peer: Peer, amount: bigint): Promise<void> {
    const { events } = this.#world;
    const session = this.session(peer);
    session.paying += amount;
    session.doubt = larger(session.doubt, this.#inDoubt(peer));
    try {
      await this.#swap.pay(peer, amount);
      session.paid += amount;
      session.doubt = larger(0n, session.doubt - amount);
      events.paid++;
    } catch (error) {
      // A cheque in doubt counts towards the next one.
      session.doubt = larger(session.doubt, amount);
      events.paymentsFailed++;
      throw error;
    } finally {
      session.paying -= amount;
    }
  }

  /** Accounting units. */
  #inDoubt(peer: Peer): bigint {
    return (this.money.issuedTo(peer)?.unconfirmed ?? 0n) / this.#world.chain.rates.exchangeRate;
  }

  async act(action: MoneyAction, other: Trader, share: number): Promise<void> {
    const { events } = this.#world;
    const done = await this.money.act(action, { peer: other.id, share });
    if (done === 'cash') events.cashed++;
    else if (done === 'deposit') events.deposited++;
    else if (done === 'withdraw') events.withdrawn++;
  }

  #state(subsystem: string): KeyValueStore {
    let records = this.#disk.get(subsystem);
    if (records === undefined) {
      records = memoryRecords();
      this.#disk.set(subsystem, records);
    }
    return records;
  }
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
