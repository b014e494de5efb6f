/**
 * One peer's account: amounts of the running session, limits, and state that outlives sessions. `node-behaviour.md`
 * 5.1.
 */
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
  /** Present while a session runs; the object identifies the session. */
  peer: Peer | undefined;
  /** Announced by the peer; our own until then. Outlives sessions. */
  thresholdReceived: bigint;
  earlyPayment: bigint;
  /** What we grant; starts anew with every session. */
  thresholdGiven: bigint;
  disconnectLimit: bigint;
  /** Refresh rate of the peer's class, units per second. */
  rate: bigint;
  /** Whether a refresh of ours is running. */
  refreshing: boolean;
  /** Debits prepared and payments started since it started. */
  refreshReserved: bigint;
  /** Monotonic milliseconds at the end of the last refresh, sent and received; -Infinity before the first. */
  refreshSentAt: number;
  refreshReceivedAt: number;
  /** As `refreshSentAt`, but -Infinity also after a failed refresh: then it is unknown what time will pay. */
  refreshedAt: number;
  /** Whether a payment of ours is running. */
  paying: boolean;
  /**
   * Paid to the peer before it was owed: a surplus in its books. For display only; the payment side counts it when it
   * is owed.
   */
  paidAhead: bigint;
  /** Whether the peer of this session takes no cheques. */
  takesNoCheques: boolean;
  /**
   * Payments of this session that the peer may not have counted yet: it may not know that we took its cheque.
   */
  receivedInDoubt: bigint;
  /** Part of the balance that the peer has not asked for: our payment arrived when we owed less than its amount. */
  overpaid: bigint;
  /** Monotonic milliseconds at the end of the last failed payment. */
  paymentFailedAt: number;
  /** Debt the peer has repaid since this process started. */
  repaid: bigint;
  /** Repaid debt at which the granted threshold grows next. */
  growAt: bigint;
  /** Debt that the peer left behind in ended sessions, at that time, and that time (monotonic milliseconds). */
  leftBehind: bigint;
  leftAt: number;
  /** How often the peer was blocklisted since it last settled. */
  offences: number;
}

/** An account without session; the peer counts as full until it connects. */
export function newAccount(stored: StoredBalance, terms: AccountingTerms): Account {
  // What every peer grants our class, until this one announces its own. Deliberate difference: Bees assume their own
  // threshold, which for a light node is ten times what it will be granted.
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
 * Debts are forgotten and limits start anew; the announced threshold, refresh times and repaid debt stay. Deliberate
 * difference: Bees also keep the originated part of the debt, and bound it by the new balance at the next credit; a
 * kept value above zero makes them pay less by cheque than they owe.
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

/** Balances stay visible until the next session starts. @param now monotonic milliseconds */
export function endSession(account: Account, now: number): void {
  account.peer = undefined;
  account.leftBehind = leftBehind(account, now) + latentDebt(account);
  account.leftAt = now;
}

/** Unpaid debt of the peer's ended sessions, less what time has forgiven since. */
export function leftBehind(account: Account, now: number): bigint {
  return debtLeft(account.leftBehind, { elapsedMs: now - account.leftAt, rate: account.rate });
}

/** @param limits what the thresholds currently allow, refresh included */
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
