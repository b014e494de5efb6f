/**
 * What this node and each of its peers owe each other, and when that is settled or has gone too far.
 * `p2p-protocols.md` 5, `node-behaviour.md` 5.
 *
 * Every step is synchronous: the node runs on one thread, so an account needs no lock. A settlement is triggered
 * by credits and runs beside them. Reservations belong to the connection session in which they were made: a connect
 * starts at zero on both sides, so what an earlier session left open counts no more.
 */
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import type { Host, Peer } from '../p2p/host.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { type Account, newAccount, row, startSession } from './account.ts';
import { BalanceStore } from './balance-store.ts';
import { ACCOUNTING_METRICS } from './metrics.ts';
import {
  type Accounting,
  AccountingError,
  type Credit,
  type Debit,
  type PaymentLedger,
  type PeerAccount,
  type RefreshLedger,
  type Refreshment,
} from './ports.ts';
import {
  blocklistMs,
  boundedOriginated,
  chequeAmount,
  debtToSettle,
  disconnectLimit,
  earlyPayment,
  expectedAcceptance,
  expectedDebt,
  forClass,
  hasOverdrawn,
  nextGrowth,
  payableDebt,
  priceOf,
  priceTable,
  refreshDue,
} from './rules.ts';

/**
 * Least time between the end of a refresh and the next one with the same peer, milliseconds. The creditor refuses two
 * in one second of its clock, and stamps before we count, so 1,000 would do if both clocks ran at the same speed;
 * the rest allows for 2 % of difference.
 */
const REFRESH_INTERVAL_MS = 1_020;
/** From the first broken stream to the end of the connection, milliseconds. */
const LEAVING_MS = 250;
/** Accounts of peers that are gone are kept for display up to this number, the oldest are forgotten first. */
const ACCOUNTS_MAX = 10_000;

export interface AccountingOptions {
  /** Debt that a full peer may reach before it has to settle. */
  readonly paymentThreshold: bigint;
  /** Debt above the threshold at which a peer is disconnected, percent. */
  readonly tolerancePercent: number;
  /** Part of the threshold that is left when this node settles, percent. */
  readonly earlyPercent: number;
  /** Debt that is forgiven per second between this node and a full peer. */
  readonly refreshRate: bigint;
  /** Mode of this node: a light one is granted a tenth. */
  readonly fullNode: boolean;
  readonly pricePerProximity: bigint;
  /** Least amount that is worth a cheque. */
  readonly minimumPayment: bigint;
  /** After a payment that failed, before the next one to the same peer. */
  readonly paymentRetryMs: number;
}

export interface AccountingDeps {
  readonly host: Pick<Host, 'blocklist'>;
  readonly clock: Clock;
  /** Subsystem `accounting`. */
  readonly state: KeyValueStore;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Pays by time (pseudosettle). Rejects when the creditor refused, broke a rule of its clock or is gone. */
  readonly refresh: (peer: Peer, amount: bigint) => Promise<Refreshment>;
  /**
   * Pays by cheque; absent without a chequebook. Resolves once the cheque is written and stored and the peer has
   * ended its side of the conversation or has had the time to: it must count the payment no later than we do, or it
   * sees a debt above the limit. Rejects when nothing was paid, within a time of its own.
   */
  readonly pay?: (peer: Peer, amount: bigint) => Promise<void>;
  /** Tells a peer its grown threshold (pricing). */
  readonly announce: (peer: Peer, threshold: bigint) => void;
}

export type AccountingService = Accounting & RefreshLedger & PaymentLedger & { stop(): Promise<void> };

export function createAccounting(options: AccountingOptions, deps: AccountingDeps): AccountingService {
  return new Ledger(options, deps);
}

class Ledger implements AccountingService {
  readonly #options: AccountingOptions;
  readonly #deps: AccountingDeps;
  readonly #metrics: MetricsOf<typeof ACCOUNTING_METRICS>;
  readonly #prices: readonly bigint[];
  readonly #accounts = new Map<string, Account>();
  readonly #balances: BalanceStore;
  /** Running ones, at most one per peer. They never reject. */
  readonly #payments = new Set<Promise<void>>();

  constructor(options: AccountingOptions, deps: AccountingDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(ACCOUNTING_METRICS);
    this.#prices = priceTable(options.pricePerProximity);
    this.#balances = new BalanceStore(deps);
    for (const stored of this.#balances.load()) this.#accounts.set(stored.id, newAccount(stored, options));
  }

  /** Waits for running payments, then writes the balances that are not on disk yet. */
  async stop(): Promise<void> {
    await Promise.all(this.#payments);
    await this.#balances.stop();
  }

  price(peerOverlay: Uint8Array, address: Uint8Array): bigint {
    return priceOf(this.#prices, peerOverlay, address);
  }

  prepareCredit(peer: Peer, price: bigint, originated: boolean): Credit {
    const account = this.#session(peer);
    const expected = expectedDebt(account, price);
    if (account.balance < 0n && expected - account.shadowReserved >= account.earlyPayment)
      this.#settle(account, peer);
    if (expected > account.thresholdReceived && expected > this.#creditLimit(account)) {
      this.#metrics.blocks.inc();
      throw new AccountingError('OVERDRAFT', 'attempted overdraft');
    }
    account.reserved += price;
    this.#metrics.reserves.inc();
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
        if (account.peer === peer) account.reserved -= price;
      },
    };
  }

  #credit(account: Account, service: { peer: Peer; price: bigint; originated: boolean }): void {
    const { peer, price, originated } = service;
    // Read before the changes: the price counts twice here, once in the reservation. Nodes of the network settle so.
    const expected = expectedDebt(account, price);
    account.balance -= price;
    account.reserved -= price;
    if (originated) {
      account.originated = boundedOriginated(account.originated - price, account.balance);
      this.#metrics.originatedCredited.inc(Number(price));
      this.#metrics.originatedCreditEvents.inc();
    }
    this.#balances.changed(account);
    this.#metrics.credited.inc(Number(price));
    this.#metrics.creditEvents.inc();
    if (expected - account.shadowReserved > account.earlyPayment) this.#settle(account, peer);
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
    this.#balances.changed(account);
    this.#metrics.debited.inc(Number(price));
    this.#metrics.debitEvents.inc();
    if (hasOverdrawn(account)) {
      this.#metrics.disconnectsOverdraw.inc();
      this.#blocklist(account, peer, 'disconnect threshold exceeded');
    }
  }

  /** The peer asked and did not take delivery: it could overload us that way without ever owing anything. */
  #haunt(account: Account, peer: Peer, price: bigint): void {
    account.shadowReserved -= price;
    account.ghost += price;
    if (account.ghost > account.disconnectLimit) {
      this.#metrics.disconnectsGhostOverdraw.inc();
      this.#blocklist(account, peer, 'ghost overdraw');
    }
  }

  /** Up to here we may owe: the announced threshold and what a refresh would pay now. */
  #creditLimit(account: Account): bigint {
    const elapsedMs = this.#deps.clock.monotonic() - account.refreshSentAt;
    return account.thresholdReceived + refreshDue(elapsedMs, this.#options.refreshRate);
  }

  /** Below this the peer has to stay: the granted threshold, the tolerance and what a refresh would pay now. */
  #debitLimit(account: Account): bigint {
    const elapsedMs = this.#deps.clock.monotonic() - account.refreshReceivedAt;
    return account.disconnectLimit + refreshDue(elapsedMs, account.rate);
  }

  #settle(account: Account, peer: Peer): void {
    const { clock, pay } = this.#deps;
    const mayPay = pay !== undefined && !account.paying;
    if (account.refreshing && !mayPay) return;
    const debt = debtToSettle(account);
    if (debt < this.#options.refreshRate) return;
    const now = clock.monotonic();
    if (!account.refreshing && now - account.refreshSentAt >= REFRESH_INTERVAL_MS) {
      account.refreshing = true;
      account.refreshReserved = 0n;
      void this.#refresh(account, peer, debt);
    }
    if (mayPay) this.#payRest(account, { peer, now, pay });
  }

  /** A cheque for what the refreshes will not pay, unless that is too little or the last one failed just now. */
  #payRest(
    account: Account,
    { peer, now, pay }: { peer: Peer; now: number; pay: NonNullable<AccountingDeps['pay']> },
  ): void {
    const { minimumPayment, paymentRetryMs, refreshRate } = this.#options;
    if (now - account.paymentFailedAt < paymentRetryMs) return;
    const amount = chequeAmount(account, { rate: refreshRate, elapsedMs: now - account.refreshedAt });
    if (amount < minimumPayment) return;
    account.paying = true;
    account.shadowReserved += amount;
    if (account.refreshing) account.refreshReserved += amount;
    const paying = this.#pay(account, { peer, amount, pay }).finally(() => this.#payments.delete(paying));
    this.#payments.add(paying);
  }

  async #pay(
    account: Account,
    { peer, amount, pay }: { peer: Peer; amount: bigint; pay: NonNullable<AccountingDeps['pay']> },
  ): Promise<void> {
    const { clock, log } = this.#deps;
    let paid = true;
    try {
      await pay(peer, amount);
    } catch (err) {
      paid = false;
      account.paymentFailedAt = clock.monotonic();
      this.#metrics.paymentErrors.inc();
      log.warn({ err, peer: peer.id }, 'payment failed');
    }
    account.paying = false;
    // The debt of an ended session is forgotten on both sides, whatever was paid of it.
    if (account.peer !== peer) return;
    account.shadowReserved -= amount;
    if (!paid) return;
    account.balance += amount;
    account.originated += amount;
    this.#balances.changed(account);
  }

  async #refresh(account: Account, peer: Peer, attempted: bigint): Promise<void> {
    const { clock, log, refresh } = this.#deps;
    const answer = await refresh(peer, attempted).catch(async (err: unknown) => {
      log.debug({ err, peer: peer.id }, 'refresh failed');
      await this.#mayLeave(peer);
      return undefined;
    });
    account.refreshing = false;
    // Also after a failure: the creditor may have stamped it, and refuses a second one in the same second.
    account.refreshSentAt = clock.monotonic();
    account.refreshedAt = answer === undefined ? Number.NEGATIVE_INFINITY : account.refreshSentAt;
    // A peer that left has broken no rule, and the next session starts at zero.
    if (account.peer !== peer || peer.closed.aborted) return;
    if (answer === undefined) {
      this.#metrics.settleErrors.inc();
      this.#enforceRefresh(account, peer, 'failed to refresh');
      return;
    }
    const expected = expectedAcceptance({
      attempted,
      reservedMeanwhile: account.refreshReserved,
      allegedSeconds: answer.allegedSeconds,
      rate: this.#options.refreshRate,
    });
    if (answer.accepted < expected) {
      this.#metrics.refreshmentBelowExpected.inc();
      this.#enforceRefresh(account, peer, 'failed to meet expectation for allowance');
      return;
    }
    account.balance += answer.accepted;
    account.originated = boundedOriginated(account.originated, account.balance);
    this.#balances.changed(account);
  }

  /** A broken stream often is the first sign of a peer that leaves: waits a moment for the rest of the news. */
  async #mayLeave({ closed }: Peer): Promise<void> {
    await this.#deps.clock.sleep(LEAVING_MS, closed).catch((error: unknown) => {
      if (!closed.aborted) throw error;
    });
  }

  #enforceRefresh(account: Account, peer: Peer, reason: string): void {
    this.#metrics.disconnectsEnforceRefresh.inc();
    this.#blocklist(account, peer, reason);
  }

  payableDebt(peer: Peer): bigint {
    return payableDebt(this.#session(peer));
  }

  refreshmentReceived(peer: Peer, amount: bigint): void {
    const account = this.#account(peer.id);
    account.refreshReceivedAt = this.#deps.clock.monotonic();
    account.repaid += amount;
    if (account.peer !== peer) return;
    account.balance -= amount;
    this.#balances.changed(account);
    if (account.repaid > account.growAt) this.#grow(account, peer);
  }

  paymentReceived(peer: Peer, amount: bigint): void {
    const account = this.#account(peer.id);
    account.repaid += amount;
    if (account.peer !== peer) return;
    const owed = account.balance > 0n ? account.balance : 0n;
    const paid = amount < owed ? amount : owed;
    account.balance -= paid;
    account.surplus += amount - paid;
    this.#balances.changed(account);
    if (account.repaid > account.growAt) this.#grow(account, peer);
  }

  /** A peer that has repaid much may owe more. */
  #grow(account: Account, peer: Peer): void {
    account.growAt = nextGrowth(account.growAt, account.rate);
    account.thresholdGiven += account.rate;
    account.disconnectLimit = disconnectLimit(account.thresholdGiven, this.#options.tolerancePercent);
    this.#deps.announce(peer, account.thresholdGiven);
  }

  thresholdAnnounced(peer: Peer, threshold: bigint): void {
    const account = this.#account(peer.id);
    account.thresholdReceived = threshold;
    account.earlyPayment = earlyPayment(threshold, this.#options.earlyPercent);
  }

  thresholdFor(peer: Peer): bigint {
    const account = this.#accounts.get(peer.id);
    if (account?.peer === peer) return account.thresholdGiven;
    return forClass(this.#options.paymentThreshold, peer.fullNode);
  }

  connected(peer: Peer): void {
    this.#session(peer);
  }

  disconnected(peer: Peer): void {
    this.#metrics.disconnectsReconnect.inc();
    const account = this.#accounts.get(peer.id);
    // A newer session of the same peer may already be running.
    if (account?.peer === peer) account.peer = undefined;
  }

  balances(): PeerAccount[] {
    return Array.from(this.#accounts.values(), (account) => this.#row(account));
  }

  balance(overlayHex: string): PeerAccount | undefined {
    const account = this.#accounts.get(overlayHex);
    return account === undefined ? undefined : this.#row(account);
  }

  #row(account: Account): PeerAccount {
    return row(account, { creditLimit: this.#creditLimit(account), debitLimit: this.#debitLimit(account) });
  }

  /** The account of a connected peer. Its first use starts the session: a peer may ask before our connect hooks have run. */
  #session(peer: Peer): Account {
    const known = this.#accounts.get(peer.id);
    if (known?.peer === peer) return known;
    if (peer.closed.aborted) throw new AccountingError('PEER_NOT_CONNECTED', 'peer is not connected');
    const account = this.#account(peer.id);
    startSession(account, peer, this.#options);
    this.#balances.changed(account);
    return account;
  }

  #account(id: string): Account {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    if (this.#accounts.size >= ACCOUNTS_MAX) this.#forgetOldest();
    const account = newAccount({ id, balance: 0n, surplus: 0n, originated: 0n }, this.#options);
    this.#accounts.set(id, account);
    return account;
  }

  #forgetOldest(): void {
    for (const [id, account] of this.#accounts) {
      if (account.peer !== undefined) continue;
      this.#accounts.delete(id);
      this.#balances.forgotten(account);
      return;
    }
  }

  #blocklist(account: Account, peer: Peer, reason: string): void {
    // Its session ends here: what is still open with it must not blocklist it again.
    account.peer = undefined;
    const durationMs = blocklistMs(account, this.#options);
    this.#deps.log.info({ peer: peer.id, reason, durationMs }, 'peer blocklisted by accounting');
    this.#deps.host.blocklist(peer.id, durationMs, reason).catch((err: unknown) => {
      this.#deps.log.warn({ err, peer: peer.id }, 'peer not blocklisted');
    });
  }
}
