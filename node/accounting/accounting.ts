/**
 * What this node and its peers owe each other. `p2p-protocols.md` 5, `node-behaviour.md` 5. Every step is synchronous: no
 * account needs a lock. Credits trigger settlements (`settling.ts`). Reservations belong to a session: connections start at
 * zero on both sides.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import type { Host, Peer } from '../p2p/host.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { type Account, endSession, leftBehind, row, startSession } from './account.ts';
import { Accounts } from './accounts.ts';
import { ACCOUNTING_METRICS } from './metrics.ts';
import {
  type Accounting,
  AccountingError,
  type Credit,
  type Debit,
  type PaymentLedger,
  type PeerAccount,
  type RefreshLedger,
} from './ports.ts';
import {
  blocklistMs,
  boundedOriginated,
  boundedOverpaid,
  disconnectLimit,
  earlyPayment,
  expectedDebt,
  forClass,
  hasOverdrawn,
  latentDebt,
  nextGrowth,
  payableDebt,
  paymentsInDoubt,
  priceOf,
  priceTable,
  refreshDue,
} from './rules.ts';
import { type Payments, Settling } from './settling.ts';
import type { AccountingTerms } from './terms.ts';

/**
 * Disconnect limits that a peer may have left unpaid in ended sessions. An honest one may lose a connection with a full
 * debt; twice before time has forgiven it is abuse.
 */
const LIMITS_LEFT_BEHIND_MAX = 2n;

export interface AccountingDeps extends Payments {
  readonly host: Pick<Host, 'blocklist' | 'disconnect'>;
  readonly clock: Clock;
  /** Subsystem `accounting`. */
  readonly state: KeyValueStore;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Tells a peer its grown threshold, by pricing. */
  readonly announce: (peer: Peer, threshold: bigint) => void;
}

export type AccountingService = Accounting & RefreshLedger & PaymentLedger & { stop(): Promise<void> };

export function createAccounting(terms: AccountingTerms, deps: AccountingDeps): AccountingService {
  return new Ledger(terms, deps);
}

class Ledger implements AccountingService {
  readonly #terms: AccountingTerms;
  readonly #deps: AccountingDeps;
  readonly #metrics: MetricsOf<typeof ACCOUNTING_METRICS>;
  readonly #prices: readonly bigint[];
  readonly #accounts: Accounts;
  readonly #settling: Settling;
  readonly #queue: CreditQueue<Account>;
  /** Ended by a blocklisting; connections may live a little longer. */
  readonly #expelled = new WeakSet<Peer>();

  constructor(terms: AccountingTerms, deps: AccountingDeps) {
    this.#terms = terms;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(ACCOUNTING_METRICS);
    this.#prices = priceTable(terms.pricePerProximity);
    this.#accounts = new Accounts(terms, deps);
    this.#queue = new CreditQueue({ clock: deps.clock, metrics: this.#metrics });
    this.#settling = new Settling(terms, {
      ...deps,
      metrics: this.#metrics,
      changed: (account) => {
        this.#accounts.changed(account);
        this.#serve(account);
      },
      blocklist: (account, peer, reason) => this.#blocklist(account, peer, reason),
    });
  }

  /** Waits for running payments, then writes the balances. */
  async stop(): Promise<void> {
    await this.#settling.stop();
    await this.#accounts.stop();
  }

  price(peerOverlay: Uint8Array, address: Uint8Array): bigint {
    return priceOf(this.#prices, peerOverlay, address);
  }

  prepareCredit(peer: Peer, price: bigint, originated: boolean): Credit {
    const account = this.#session(peer);
    this.#metrics.reserves.inc();
    const expected = expectedDebt(account, price);
    if (account.balance < 0n && expected - account.shadowReserved >= account.earlyPayment)
      this.#settling.settle(account, peer);
    if (!this.#covers(account, expected)) {
      this.#metrics.blocks.inc();
      throw new AccountingError('OVERDRAFT', 'attempted overdraft');
    }
    account.reserved += price;
    let open = true;
    return {
      apply: () => {
        if (!open) return;
        open = false;
        if (account.peer === peer) this.#credit(account, { peer, price, originated });
      },
      release: () => {
        if (!open) return;
        open = false;
        if (account.peer !== peer) return;
        account.reserved -= price;
        this.#serve(account);
      },
    };
  }

  awaitCredit(peer: Peer, price: bigint, wake: () => void): Disposable {
    const account = this.#accounts.of(peer.overlayHex);
    const waiting = this.#queue.add(account, price, wake);
    // It may have been refused long ago.
    if (this.#covers(account, expectedDebt(account, price))) queueMicrotask(() => this.#serve(account));
    return waiting;
  }

  #covers(account: Account, expected: bigint): boolean {
    return expected <= account.thresholdReceived || expected <= this.#creditLimit(account);
  }

  /** Pays again when more credit is needed. */
  #serve(account: Account): void {
    const { peer } = account;
    if (peer === undefined) return;
    const isShort = this.#queue.serve(account, (price) =>
      this.#covers(account, expectedDebt(account, price)),
    );
    if (isShort) this.#settling.settle(account, peer);
  }

  #credit(account: Account, service: { peer: Peer; price: bigint; originated: boolean }): void {
    const { peer, price, originated } = service;
    // Before the changes: the price counts twice, once in the reservation. Bees settle this way.
    const expected = expectedDebt(account, price);
    account.balance -= price;
    account.overpaid = boundedOverpaid(account.overpaid, account.balance);
    account.reserved -= price;
    if (originated) {
      account.originated = boundedOriginated(account.originated - price, account.balance);
      this.#metrics.originatedCredited.inc(Number(price));
      this.#metrics.originatedCreditEvents.inc();
    }
    this.#accounts.changed(account);
    this.#metrics.credited.inc(Number(price));
    this.#metrics.creditEvents.inc();
    if (expected - account.shadowReserved > account.earlyPayment) this.#settling.settle(account, peer);
  }

  prepareDebit(peer: Peer, price: bigint): Debit {
    const account = this.#session(peer);
    account.shadowReserved += price;
    if (account.refreshing) account.refreshReserved += price;
    let open = true;
    return {
      apply: () => {
        if (!open) return;
        open = false;
        if (account.peer === peer) this.#debit(account, peer, price);
      },
      release: () => {
        if (!open) return;
        open = false;
        if (account.peer === peer) this.#haunt(account, peer, price);
      },
    };
  }

  #debit(account: Account, peer: Peer, price: bigint): void {
    const fromSurplus = account.surplus < price ? account.surplus : price;
    account.surplus -= fromSurplus;
    account.balance += price - fromSurplus;
    account.originated = boundedOriginated(account.originated, account.balance);
    account.shadowReserved -= price;
    this.#accounts.changed(account);
    this.#metrics.debited.inc(Number(price));
    this.#metrics.debitEvents.inc();
    if (hasOverdrawn(account)) {
      this.#metrics.disconnectsOverdraw.inc();
      this.#blocklist(account, peer, 'disconnect threshold exceeded');
    }
  }

  /** The peer asked but took no delivery: it could overload us without owing anything. */
  #haunt(account: Account, peer: Peer, price: bigint): void {
    account.shadowReserved -= price;
    account.ghost += price;
    if (account.ghost > account.disconnectLimit) {
      this.#metrics.disconnectsGhostOverdraw.inc();
      this.#blocklist(account, peer, 'ghost overdraw');
    }
  }

  /** The announced threshold and a refresh. */
  #creditLimit(account: Account): bigint {
    const elapsedMs = this.#deps.clock.monotonic() - account.refreshSentAt;
    return account.thresholdReceived + refreshDue(elapsedMs, this.#terms.refreshRate);
  }

  /** The granted threshold, the tolerance and a refresh. */
  #debitLimit(account: Account): bigint {
    const elapsedMs = this.#deps.clock.monotonic() - account.refreshReceivedAt;
    return account.disconnectLimit + refreshDue(elapsedMs, account.rate);
  }

  payableDebt(peer: Peer): bigint {
    return payableDebt(this.#session(peer));
  }

  refreshmentReceived(peer: Peer, amount: bigint): void {
    const account = this.#accounts.of(peer.overlayHex);
    account.refreshReceivedAt = this.#deps.clock.monotonic();
    this.#repaid(account, peer, amount, () => {
      account.balance -= amount;
    });
  }

  paymentReceived(peer: Peer, amount: bigint): void {
    const account = this.#accounts.of(peer.overlayHex);
    this.#repaid(account, peer, amount, () => {
      account.receivedInDoubt = paymentsInDoubt(account, amount);
      const owed = account.balance > 0n ? account.balance : 0n;
      const paid = amount < owed ? amount : owed;
      account.balance -= paid;
      account.surplus += amount - paid;
    });
  }

  paidAhead(peer: Peer, amount: bigint): void {
    const account = this.#accounts.of(peer.overlayHex);
    if (account.peer === peer) account.paidAhead = amount;
  }

  /** A peer that has repaid much may owe more. After a session no balance changes. */
  #repaid(account: Account, peer: Peer, amount: bigint, book: () => void): void {
    account.repaid += amount;
    if (amount > 0n) account.offences = 0;
    if (account.peer !== peer) return;
    book();
    this.#accounts.changed(account);
    if (account.repaid > account.growAt) this.#grow(account, peer);
  }

  #grow(account: Account, peer: Peer): void {
    account.growAt = nextGrowth(account.growAt, account.rate, this.#terms);
    account.thresholdGiven += account.rate;
    account.disconnectLimit = disconnectLimit(account.thresholdGiven, this.#terms.tolerancePercent);
    this.#deps.announce(peer, account.thresholdGiven);
  }

  thresholdAnnounced(peer: Peer, threshold: bigint): void {
    const account = this.#accounts.of(peer.overlayHex);
    account.thresholdReceived = threshold;
    account.earlyPayment = earlyPayment(threshold, this.#terms.earlyPercent);
    this.#serve(account);
  }

  thresholdFor(peer: Peer): bigint {
    const account = this.#accounts.get(peer.overlayHex);
    if (account?.peer === peer) return account.thresholdGiven;
    return forClass(this.#terms.paymentThreshold, peer.fullNode, this.#terms.lightFactor);
  }

  connected(peer: Peer): void {
    this.#session(peer);
  }

  disconnected(peer: Peer): void {
    this.#metrics.disconnectsReconnect.inc();
    const account = this.#accounts.get(peer.overlayHex);
    // A newer session may be running.
    if (account?.peer === peer) endSession(account, this.#deps.clock.monotonic());
  }

  balances(): PeerAccount[] {
    return this.#accounts.all().map((account) => this.#row(account));
  }

  balance(overlayHex: string): PeerAccount | undefined {
    const account = this.#accounts.get(overlayHex);
    return account === undefined ? undefined : this.#row(account);
  }

  #row(account: Account): PeerAccount {
    return row(account, { creditLimit: this.#creditLimit(account), debitLimit: this.#debitLimit(account) });
  }

  /** Starts the session at its first use: a peer may ask before our connect hooks have run. */
  #session(peer: Peer): Account {
    const known = this.#accounts.get(peer.overlayHex);
    if (known?.peer === peer) return known;
    if (peer.closed.aborted || this.#expelled.has(peer)) throw notConnected();
    const account = this.#accounts.of(peer.overlayHex);
    const now = this.#deps.clock.monotonic();
    // A session's end may be reported after the next start.
    if (account.peer !== undefined) endSession(account, now);
    startSession(account, peer, this.#terms);
    this.#accounts.changed(account);
    if (leftBehind(account, now) > LIMITS_LEFT_BEHIND_MAX * account.disconnectLimit) {
      this.#metrics.disconnectsLeftBehind.inc();
      this.#blocklist(account, peer, 'debts left behind');
      throw notConnected();
    }
    return account;
  }

  #blocklist(account: Account, peer: Peer, reason: string): void {
    const { clock, host, log } = this.#deps;
    // Nothing still open may blocklist the peer again.
    this.#expelled.add(peer);
    const debt = leftBehind(account, clock.monotonic()) + latentDebt(account);
    const durationMs = blocklistMs(debt, { ...this.#terms, offences: account.offences++ });
    endSession(account, clock.monotonic());
    log.info({ peer: peer.overlayHex, reason, durationMs }, 'peer blocklisted by accounting');
    host.blocklist(peer.overlayHex, durationMs, reason).catch((err: unknown) => {
      log.warn({ err, peer: peer.overlayHex }, 'peer could not be blocklisted');
      // Even then the connection must end: its debt no longer counts.
      if (!peer.closed.aborted) void this.#disconnect(peer, reason);
    });
  }

  async #disconnect(peer: Peer, reason: string): Promise<void> {
    await this.#deps.host
      .disconnect(peer.overlayHex, reason)
      .catch((err: unknown) => this.#deps.log.warn({ err, peer: peer.overlayHex }, 'peer not disconnected'));
  }
}

function notConnected(): AccountingError {
  return new AccountingError('PEER_NOT_CONNECTED', 'peer is not connected');
}

interface Waiter {
  readonly price: bigint;
  readonly wake: () => void;
}

interface CreditQueueDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Pick<MetricsOf<typeof ACCOUNTING_METRICS>, 'creditWait'>;
}

/**
 * Requests that wait for credit. Woken in order as soon as something is paid: a cheque takes milliseconds, a fixed pause
 * would be most of a light node's reading time. `K` is an account.
 */
class CreditQueue<K extends object> {
  readonly #deps: CreditQueueDeps;
  readonly #waiters = new WeakMap<K, Set<Waiter>>();
  #waiting = 0;
  #since = 0;

  constructor(deps: CreditQueueDeps) {
    this.#deps = deps;
  }

  /** Dispose it when the request no longer waits. */
  add(account: K, price: bigint, wake: () => void): Disposable {
    const waiter = { price, wake };
    const waiters = this.#waiters.get(account) ?? new Set();
    this.#waiters.set(account, waiters.add(waiter));
    if (this.#waiting === 0) this.#since = this.#deps.clock.monotonic();
    this.#waiting += 1;
    return { [Symbol.dispose]: () => this.#remove(waiters, waiter) };
  }

  /** In order. @param fits the price is covered; the woken request reserves it @returns whether any still waits */
  serve(account: K, fits: (price: bigint) => boolean): boolean {
    const waiters = this.#waiters.get(account);
    if (waiters === undefined || waiters.size === 0) return false;
    for (const waiter of waiters) {
      if (!fits(waiter.price)) return true;
      this.#remove(waiters, waiter);
      waiter.wake();
    }
    return false;
  }

  #remove(waiters: Set<Waiter>, waiter: Waiter): void {
    if (!waiters.delete(waiter)) return;
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#deps.metrics.creditWait.inc((this.#deps.clock.monotonic() - this.#since) / 1000);
  }
}
