/** The account of one peer: amounts of the running session, limits, and what outlives sessions. `node-behaviour.md` 5.1. */
import type { Peer } from '../p2p/host.ts';
import type { StoredBalance } from './balance-store.ts';
import type { PeerAccount } from './ports.ts';
import { type Amounts, disconnectLimit, earlyPayment, firstGrowth, forClass } from './rules.ts';

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
  /** Monotonic milliseconds at the end of the last payment that failed. */
  paymentFailedAt: number;
  /** Debt the peer has repaid since this process started. */
  repaid: bigint;
  /** Repaid debt at which the granted threshold grows next. */
  growAt: bigint;
}

interface Limits {
  readonly paymentThreshold: bigint;
  readonly tolerancePercent: number;
  readonly earlyPercent: number;
  readonly refreshRate: bigint;
  readonly fullNode: boolean;
}

/** An account without session; the peer counts as full until it connects. */
export function newAccount(stored: StoredBalance, limits: Limits): Account {
  // What a peer of our class is granted everywhere, until this one tells us.
  const thresholdReceived = forClass(limits.paymentThreshold, limits.fullNode);
  return {
    ...stored,
    reserved: 0n,
    shadowReserved: 0n,
    ghost: 0n,
    peer: undefined,
    thresholdReceived,
    earlyPayment: earlyPayment(thresholdReceived, limits.earlyPercent),
    thresholdGiven: limits.paymentThreshold,
    disconnectLimit: disconnectLimit(limits.paymentThreshold, limits.tolerancePercent),
    rate: limits.refreshRate,
    refreshing: false,
    refreshReserved: 0n,
    refreshSentAt: Number.NEGATIVE_INFINITY,
    refreshReceivedAt: Number.NEGATIVE_INFINITY,
    refreshedAt: Number.NEGATIVE_INFINITY,
    paying: false,
    paymentFailedAt: Number.NEGATIVE_INFINITY,
    repaid: 0n,
    growAt: firstGrowth(limits.refreshRate),
  };
}

/** Debts are forgotten, limits start anew; announced threshold, refresh times and repaid debt stay. */
export function startSession(account: Account, peer: Peer, limits: Limits): void {
  account.peer = peer;
  account.balance = 0n;
  account.surplus = 0n;
  account.reserved = 0n;
  account.shadowReserved = 0n;
  account.refreshReserved = 0n;
  account.ghost = 0n;
  account.rate = forClass(limits.refreshRate, peer.fullNode);
  account.thresholdGiven = forClass(limits.paymentThreshold, peer.fullNode);
  account.disconnectLimit = disconnectLimit(account.thresholdGiven, limits.tolerancePercent);
  account.growAt = firstGrowth(account.rate);
}

/** @param limits what the thresholds allow at this moment, refresh included */
export function row(account: Account, limits: { creditLimit: bigint; debitLimit: bigint }): PeerAccount {
  return {
    peer: account.id,
    balance: account.balance - account.surplus,
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
