/** The account of one peer: amounts of the running session, limits, and what outlives sessions. `node-behaviour.md` 5.1. */
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
  /** Present while a session runs; its object is the session. */
  peer: Peer | undefined;
  /** Announced by the peer; ours until then. Outlives sessions. */
  thresholdReceived: bigint;
  earlyPayment: bigint;
  /** What we grant; starts anew with every session. */
  thresholdGiven: bigint;
  disconnectLimit: bigint;
  /** Refresh rate of the peer's class, units per second. */
  rate: bigint;
  /** A refresh of ours is running. */
  refreshing: boolean;
  /** Debits prepared and payments started since it started. */
  refreshReserved: bigint;
  /** Monotonic milliseconds at the end of the last refresh sent and received; -Infinity before the first. */
  refreshSentAt: number;
  refreshReceivedAt: number;
  /** As `refreshSentAt`, but -Infinity also after a refresh that failed: then nothing is known of what time will pay. */
  refreshedAt: number;
  /** A payment of ours is running. */
  paying: boolean;
  /** Paid to the peer before it was owed: in its books a surplus. Only shown; who pays counts it when it is owed. */
  paidAhead: bigint;
  /** The peer of this session takes no cheques. */
  takesNoCheques: boolean;
  /** Payments of this session that the peer may not have counted yet: it may have missed that we took its cheque. */
  receivedInDoubt: bigint;
  /** Part of the balance that the peer has not asked for: our payment came when we owed less than it paid. */
  overpaid: bigint;
  /** Monotonic milliseconds at the end of the last payment that failed. */
  paymentFailedAt: number;
  /** Debt the peer has repaid since this process started. */
  repaid: bigint;
  /** Repaid debt at which the granted threshold grows next. */
  growAt: bigint;
  /** Debt that the peer left behind in ended sessions, as it was then, and when (monotonic milliseconds). */
  leftBehind: bigint;
  leftAt: number;
  /** How often the peer was blocklisted since it last settled. */
  offences: number;
}

/** An account without session; the peer counts as full until it connects. */
export function newAccount(stored: StoredBalance, terms: AccountingTerms): Account {
  // What a peer of our class is granted everywhere, until this one tells us. Deliberate difference: nodes of the
  // network assume their own threshold, at a light node ten times of what it will be granted.
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
 * Debts are forgotten, limits start anew; announced threshold, refresh times and repaid debt stay. Deliberate
 * difference: nodes of the network keep the originated part of the debt as well, and bound it to the new balance with
 * the next credit; what they keep above zero makes them pay less by cheque than they owe.
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

/** Balances stay to be looked at until the next session starts. @param now monotonic milliseconds */
export function endSession(account: Account, now: number): void {
  account.peer = undefined;
  account.leftBehind = leftBehind(account, now) + latentDebt(account);
  account.leftAt = now;
}

/** What the peer has not paid of its ended sessions, less what time has forgiven since. */
export function leftBehind(account: Account, now: number): bigint {
  return debtLeft(account.leftBehind, { elapsedMs: now - account.leftAt, rate: account.rate });
}

/** @param limits what the thresholds allow at this moment, refresh included */
export function row(account: Account, limits: { creditLimit: bigint; debitLimit: bigint }): PeerAccount {
  return {
    peer: account.id,
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
