import { CodedError } from '../../formats/coded-error.ts';
import type { Peer } from '../p2p/host.ts';

/** A reservation of what a service will cost us; exactly one of `apply` and `release` takes effect. */
export interface Credit {
  /** The service was delivered: we owe the price. */
  apply(): void;
  /** It was not delivered. Safe after `apply` (does nothing), so it belongs in `finally`. */
  release(): void;
}

/** The mirror image for a service that we provide. */
export interface Debit {
  /** We delivered: the peer owes the price. */
  apply(): void;
  /** We could not deliver: the price becomes ghost balance. Does nothing after `apply`. */
  release(): void;
}

export type AccountingErrorCode = 'OVERDRAFT' | 'PEER_NOT_CONNECTED';

export class AccountingError extends CodedError<AccountingErrorCode> {}

/** Amounts are accounting units. Positive balance: the peer owes us. */
export interface Accounting {
  /** Price of `address` when `peerOverlay` serves it: (32 - proximity order) x price per proximity. */
  price(peerOverlay: Uint8Array, address: Uint8Array): bigint;
  /** @param originated whether the request is our own, not a forwarded one @throws AccountingError */
  prepareCredit(peer: Peer, price: bigint, originated: boolean): Credit;
  /**
   * Calls `wake` once, when a payment or an announced threshold lets the peer be asked for `price` again, or another
   * request was given up. Requests are woken in the order of the calls. Allowance that comes with time alone wakes
   * none.
   */
  awaitCredit(peer: Peer, price: bigint, wake: () => void): Disposable;
  /** @throws AccountingError */
  prepareDebit(peer: Peer, price: bigint): Debit;
  /** What a peer announced in the pricing protocol. */
  thresholdAnnounced(peer: Peer, threshold: bigint): void;
  /** Threshold that we grant this peer, as announced by pricing. */
  thresholdFor(peer: Peer): bigint;
  connected(peer: Peer): void;
  disconnected(peer: Peer): void;
  balances(): PeerAccount[];
  balance(overlayHex: string): PeerAccount | undefined;
}

/** One row of `/accounting`. */
export interface PeerAccount {
  readonly peer: string;
  /** Ledger balance less surplus, with what was paid ahead. */
  readonly balance: bigint;
  readonly consumedBalance: bigint;
  readonly thresholdReceived: bigint;
  readonly thresholdGiven: bigint;
  readonly currentThresholdReceived: bigint;
  readonly currentThresholdGiven: bigint;
  readonly surplusBalance: bigint;
  readonly reservedBalance: bigint;
  readonly shadowReservedBalance: bigint;
  readonly ghostBalance: bigint;
}

/** Totals of time-based settlement per peer, accounting units. */
export interface TimeSettlement {
  readonly peer: string;
  readonly received: bigint;
  readonly sent: bigint;
}

/** What a creditor answered to a refresh, after all checks on its clock. */
export interface Refreshment {
  /** 0 <= accepted <= attempted. */
  readonly accepted: bigint;
  /** Between the creditor's stamps of this refresh and of the one before (before the first: since the unix epoch). */
  readonly allegedSeconds: bigint;
}

/** Accounting as the cheque protocol sees it. */
export interface PaymentLedger {
  /**
   * A cheque of the peer was accepted: it pays what the peer owes, and the rest becomes surplus, which later services
   * use up. A payment never makes this node owe: it would have to pay for a cheque that may bounce.
   */
  paymentReceived(peer: Peer, amount: bigint): void;
  /** Total that the peer has taken from us in this session before it was owed. It pays for later debts. */
  paidAhead(peer: Peer, amount: bigint): void;
}

/** Accounting as the time settlement protocol sees it. */
export interface RefreshLedger {
  connected(peer: Peer): void;
  disconnected(peer: Peer): void;
  /** Debt that the peer may pay now, debits in progress included; 0 when it owes nothing. */
  payableDebt(peer: Peer): bigint;
  /** The peer paid by time: its balance falls, possibly below zero. */
  refreshmentReceived(peer: Peer, amount: bigint): void;
}
