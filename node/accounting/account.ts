/** One peer's account. `node-behaviour.md` 5.1. */
import type { Peer } from '../p2p/host.ts';
import type { StoredBalance } from './balance-store.ts';
import type { PeerAccount } from './ports.ts';
import {
  type Amounts,
  debtLeft,
  disconnectLimit,
  earlyPayment,
  firstGrowth,
  forClass,
  latentDebt,
} from './rules.ts';
import type { AccountingTerms } from './terms.ts';

export interface Account extends Amounts, StoredBalance {
  /** Set while a session runs, which the object identifies. */
  peer: Peer | undefined;
  /** The peer's; our own until announced. Outlives sessions. */
  thresholdReceived: bigint;
  earlyPayment: bigint;
  /** Granted; anew with every session. */
  thresholdGiven: bigint;
  disconnectLimit: bigint;
  /** Refresh rate of the peer's class, units per second. */
  rate: bigint;
  /** A refresh of ours is running. */
  refreshing: boolean;
  /** Debits prepared and payments started since then. */
  refreshReserved: bigint;
  /** Monotonic end of the last refresh; -Infinity before the first. */
  refreshSentAt: number;
  refreshReceivedAt: number;
  /** As `refreshSentAt`, but -Infinity also after a failure: it is unknown what time will pay. */
  refreshedAt: number;
  /** A payment of ours is running. */
  paying: boolean;
  /** Paid before it was owed. For display; the payment side counts it when it is owed. */
  paidAhead: bigint;
  /** The peer of this session takes none. */
  takesNoCheques: boolean;
  /** Payments that the peer may not count: it may not know that we took its cheque. */
  receivedInDoubt: bigint;
  /** Our payment arrived when we owed less: the peer has not asked for this part of the balance. */
  overpaid: bigint;
  /** Monotonic. */
  paymentFailedAt: number;
  /** Debt repaid since this process started. */
  repaid: bigint;
  /** Repaid debt at which the granted threshold grows next. */
  growAt: bigint;
  /** Debt left behind in ended sessions, at that time (monotonic). */
  leftBehind: bigint;
  leftAt: number;
  /** Blocklistings since it last settled. */
  offences: number;
}

/** The peer counts as full until it connects. */
export function newAccount(stored: StoredBalance, terms: AccountingTerms): Account {
  // What every peer grants our class. Deliberate difference: Bees assume their own threshold, for a light node ten times
  // that.
  const thresholdReceived = forClass(terms.paymentThreshold, terms.fullNode, terms.lightFactor);
  return {
    ...stored,
    reserved: 0n,
    shadowReserved: 0n,
    ghost: 0n,
    peer: undefined,
    thresholdReceived,
    earlyPayment: earlyPayment(thresholdReceived, terms.earlyPercent),
    thresholdGiven: terms.paymentThreshold,
    disconnectLimit: disconnectLimit(terms.paymentThreshold, terms.tolerancePercent),
    rate: terms.refreshRate,
    refreshing: false,
    refreshReserved: 0n,
    refreshSentAt: Number.NEGATIVE_INFINITY,
    refreshReceivedAt: Number.NEGATIVE_INFINITY,
    refreshedAt: Number.NEGATIVE_INFINITY,
    paying: false,
    paidAhead: 0n,
    takesNoCheques: false,
    receivedInDoubt: 0n,
    overpaid: 0n,
    paymentFailedAt: Number.NEGATIVE_INFINITY,
    repaid: 0n,
    growAt: firstGrowth(terms.refreshRate, terms),
    leftBehind: 0n,
    leftAt: 0,
    offences: 0,
  };
}

/**
 * Debts and limits start anew; announced threshold, refresh times and repaid debt stay. Deliberate difference: Bees keep the
 * originated part of the debt, and then pay less than they owe.
 */
export function startSession(account: Account, peer: Peer, terms: AccountingTerms): void {
  account.peer = peer;
  account.balance = 0n;
  account.surplus = 0n;
  account.originated = 0n;
  account.reserved = 0n;
  account.shadowReserved = 0n;
  account.refreshReserved = 0n;
  account.receivedInDoubt = 0n;
  account.overpaid = 0n;
  account.ghost = 0n;
  account.paidAhead = 0n;
  account.takesNoCheques = false;
  account.rate = forClass(terms.refreshRate, peer.fullNode, terms.lightFactor);
  account.thresholdGiven = forClass(terms.paymentThreshold, peer.fullNode, terms.lightFactor);
  account.disconnectLimit = disconnectLimit(account.thresholdGiven, terms.tolerancePercent);
  account.growAt = firstGrowth(account.rate, terms);
}

/** Balances stay visible. @param now monotonic */
export function endSession(account: Account, now: number): void {
  account.peer = undefined;
  account.leftBehind = leftBehind(account, now) + latentDebt(account);
  account.leftAt = now;
}

/** Less what time has forgiven. */
export function leftBehind(account: Account, now: number): bigint {
  return debtLeft(account.leftBehind, { elapsedMs: now - account.leftAt, rate: account.rate });
}

/** @param limits by the thresholds, refresh included */
export function row(account: Account, limits: { creditLimit: bigint; debitLimit: bigint }): PeerAccount {
  return {
    peer: account.overlayHex,
    balance: account.balance - account.surplus + account.paidAhead,
    consumedBalance: account.balance,
    thresholdReceived: account.thresholdReceived,
    thresholdGiven: account.thresholdGiven,
    currentThresholdReceived: limits.creditLimit,
    currentThresholdGiven: limits.debitLimit,
    surplusBalance: account.surplus,
    reservedBalance: account.reserved,
    shadowReservedBalance: account.shadowReserved,
    ghostBalance: account.ghost,
  };
}
