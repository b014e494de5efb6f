/** A peer's account: running amounts, limits, and what outlives sessions. `node-behaviour.md` 5.1. */
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
  /** Identifies the running session, if any. */
  peer: Peer | undefined;
  /** As announced, or ours until then. Outlives sessions. */
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
  /** Monotonic ms at the end of the last refresh, sent and received; -Infinity before the first. */
  refreshSentAt: number;
  refreshReceivedAt: number;
  /** As `refreshSentAt`, but -Infinity also after a failed refresh: then it is unknown what time will pay. */
  refreshedAt: number;
  /** Whether a payment of ours is running. */
  paying: boolean;
  /** Paid before it was owed: a surplus in the peer's books, counted when owed. For display. */
  paidAhead: bigint;
  /** Whether the peer of this session takes no cheques. */
  takesNoCheques: boolean;
  /**
   * Payments of this session that the peer may not have counted yet: it may not know that we took its cheque.
   */
  receivedInDoubt: bigint;
  /** Balance that the peer did not ask for: we owed less than we paid. */
  overpaid: bigint;
  /** Monotonic ms of the last failed payment's end. */
  paymentFailedAt: number;
  /** Debt the peer has repaid since this process started. */
  repaid: bigint;
  /** Repaid debt at which the granted threshold grows next. */
  growAt: bigint;
  /** Debt left in ended sessions, and when (monotonic ms). */
  leftBehind: bigint;
  leftAt: number;
  /** Blocklistings since it last settled. */
  offences: number;
}

/** Without session; full until it connects. */
export function newAccount(stored: StoredBalance, terms: AccountingTerms): Account {
  // What peers grant our class until announced. Deliberate difference: Bees assume their own threshold, tenfold for a
  // light node.
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
 * Debts are forgotten, limits start anew; threshold, refresh times and repaid debt stay. Deliberate difference: Bees
 * keep the originated debt, and then pay less by cheque than they owe.
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

/** Balances stay visible. @param now monotonic ms */
export function endSession(account: Account, now: number): void {
  account.peer = undefined;
  account.leftBehind = leftBehind(account, now) + latentDebt(account);
  account.leftAt = now;
}

/** Unpaid debt of ended sessions, less what time forgave. */
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
