/**
 * Nodes that trade, over memory hosts and one virtual clock: real accounting, time settlement and pricing, an honest
 * cheque link, and services whose price and fate the test chooses. Beside the books of every node stands what was
 * really exchanged in each session, so that a test can compare the two at any moment.
 */
import { type AccountingService, createAccounting } from '../../../node/accounting/accounting.ts';
import type { PeerAccount } from '../../../node/accounting/ports.ts';
import type { PaymentTerms } from '../../../node/accounting/terms.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { Host, MessageStream, Peer, ProtocolSpec } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import type { MessageTable } from '../../../node/p2p/message.ts';
import { decodeAmount, encodeAmount } from '../../../node/protocols/amounts.ts';
import { createPricing } from '../../../node/protocols/pricing/pricing.ts';
import { createPseudosettle, type Pseudosettle } from '../../../node/protocols/pseudosettle/pseudosettle.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import { memoryNode, memoryRecords } from '../p2p/memory-nodes.ts';
import { delayed, never } from '../protocols/exchange-nodes.ts';
import type { ManualClock } from '../protocols/manual-clock.ts';

const TRADE: ProtocolSpec = { id: '/swarm/trade/1.0.0/trade', inboundStreamsMax: 10_000 };
const CHEQUE: ProtocolSpec = { id: '/swarm/cheque/1.0.0/cheque', inboundStreamsMax: 4 };
const Order = {
  price: [1, 'bytes'],
  fate: [2, 'uint32'],
  delayMs: [3, 'uint32'],
} as const satisfies MessageTable;
const Goods = { price: [1, 'bytes'] } as const satisfies MessageTable;
const Cheque = { amount: [1, 'bytes'] } as const satisfies MessageTable;

/** What becomes of an order: delivered, not found, or broken off by the server after it had reserved the price. */
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
  /** Reservations that are open. */
  credits = 0n;
  debits = 0n;
  paying = 0n;
  ghost = 0n;
  /** Refreshes asked for and not answered yet. */
  refreshes = 0;

  /** What the books must say: positive when the peer owes. */
  get balance(): bigint {
    const sent = this.given + this.refreshSent + this.paid;
    return sent - this.used - this.refreshReceived - this.received;
  }
}

export interface Order {
  readonly price: bigint;
  readonly fate: Fate;
  /** Time that the server takes, and the client between delivery and booking. */
  readonly delayMs: number;
}

/** What happened in a run, to see that a test has tried what it says. */
export interface Events {
  refused: number;
  refreshed: number;
  paid: number;
  paymentsFailed: number;
  grown: number;
  brokenOff: number;
}

/** How a node pays until it is told otherwise. */
export interface PaymentHabits {
  readonly fail: boolean;
  /** A receiver's look at the chain. */
  readonly cashMs: number;
  /** From the receiver's word to the payer's book. */
  readonly bookMs: number;
  /** What a refresh is slower than other messages. */
  readonly refreshMs: number;
}

export class Trader {
  readonly #n: number;
  readonly #terms: PaymentTerms;
  readonly #clock: ManualClock;
  readonly #network: MemoryNetwork;
  readonly #latencyMs: number;
  readonly #events: Events;
  readonly #disk = new Map<string, KeyValueStore>();
  readonly #sessions = new Map<Peer, Session>();
  /** Why peers were lost. */
  readonly losses: string[] = [];
  habits: PaymentHabits = { fail: false, cashMs: 50, bookMs: 0, refreshMs: 0 };
  host!: Host;
  accounting!: AccountingService;
  pseudosettle!: Pseudosettle;

  constructor(
    n: number,
    given: {
      terms: PaymentTerms;
      clock: ManualClock;
      network: MemoryNetwork;
      latencyMs: number;
      events: Events;
    },
  ) {
    this.#n = n;
    this.#terms = given.terms;
    this.#clock = given.clock;
    this.#network = given.network;
    this.#latencyMs = given.latencyMs;
    this.#events = given.events;
  }

  get id(): string {
    return Buffer.from(this.host.overlay).toString('hex');
  }

  /** A process of this node: what is in memory is new, what is on disk is not. */
  async start(): Promise<void> {
    const clock = this.#clock;
    const { host: wire } = memoryNode({
      network: this.#network,
      n: this.#n,
      clock,
      state: this.#state('p2p'),
    });
    const host = delayed(wire, this.#latencyMs, clock);
    const env = { host, clock, log: silentLogger(), metrics: createMetrics({ prefix: 'svc' }) };
    const accounting = createAccounting(this.#terms, {
      ...env,
      state: this.#state('accounting'),
      refresh: (peer, amount) => this.#refresh(peer, amount),
      pay: (peer, amount) => this.#pay(peer, amount),
      announce: (peer) => {
        this.#events.grown++;
        pricing.announce(peer, peer.closed).catch((error: unknown) => {
          if (!peer.closed.aborted) throw error;
        });
      },
    });
    const pseudosettle = createPseudosettle(this.#terms, {
      ...env,
      state: this.#state('pseudosettle'),
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
    const pricing = createPricing(this.#terms, { ...env, accounting });
    wire.onDisconnected((_peer, reason) => void this.losses.push(reason));
    wire.handle(TRADE, (stream) => this.#serve(stream));
    wire.handle(CHEQUE, (stream) => this.#cash(stream));
    this.host = host;
    this.accounting = accounting;
    this.pseudosettle = pseudosettle;
    await wire.start();
  }

  async stop(): Promise<void> {
    await this.host.stop();
    await this.accounting.stop();
  }

  async connect(other: Trader): Promise<void> {
    await this.host.connect([other.host.underlays()[0] as string], never);
  }

  /** The connection to `other`, if both ends have it. */
  link(other: Trader): Peer | undefined {
    const there = other.host.peer(this.id);
    return there === undefined ? undefined : this.host.peer(other.id);
  }

  session(peer: Peer): Session {
    let session = this.#sessions.get(peer);
    if (session === undefined) {
      session = new Session();
      this.#sessions.set(peer, session);
    }
    return session;
  }

  books(other: Trader): PeerAccount {
    const row = this.accounting.balance(other.id);
    if (row === undefined) throw new Error('no account');
    return row;
  }

  /** Orders a service; says nothing when accounting refuses, or when the peer leaves. */
  async order(peer: Peer, order: Order): Promise<void> {
    let credit: ReturnType<AccountingService['prepareCredit']>;
    try {
      credit = this.accounting.prepareCredit(peer, order.price, true);
    } catch {
      this.#events.refused++;
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
      await this.#clock.sleep(order.delayMs);
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
      await this.#clock.sleep(order.delayMs);
      if (FATES[order.fate] === 'broken off') {
        this.#events.brokenOff++;
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
      await this.#clock.sleep(this.habits.refreshMs);
      const refreshment = await this.pseudosettle.settle(peer, amount);
      session.refreshSent += refreshment.accepted;
      this.#events.refreshed++;
      return refreshment;
    } finally {
      session.refreshes--;
    }
  }

  async #pay(peer: Peer, amount: bigint): Promise<void> {
    const session = this.session(peer);
    const { fail, bookMs } = this.habits;
    session.paying += amount;
    try {
      if (fail) {
        await this.#clock.sleep(bookMs);
        this.#events.paymentsFailed++;
        throw new Error('chequebook out of funds');
      }
      const stream = await this.host.open(peer, CHEQUE.id, {});
      await stream.write(Cheque, { amount: encodeAmount(amount) });
      // Whatever becomes of the connection now, the cheque is out.
      await stream.close().catch((error: unknown) => {
        if (!peer.closed.aborted) throw error;
      });
      await this.#clock.sleep(bookMs);
      session.paid += amount;
      this.#events.paid++;
    } finally {
      session.paying -= amount;
    }
  }

  async #cash(stream: MessageStream): Promise<void> {
    const amount = decodeAmount((await stream.read(Cheque)).amount) ?? 0n;
    // The chain is asked.
    await this.#clock.sleep(this.habits.cashMs);
    this.session(stream.peer).received += amount;
    this.accounting.paymentReceived(stream.peer, amount);
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
