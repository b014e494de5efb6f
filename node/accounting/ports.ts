import { CodedError } from '../../formats/coded-error.ts';
import type { Peer } from '../p2p/host.ts';

/** Reserves a service's cost; one of `apply` and `release` counts. */
export interface Credit {
  /** The service was delivered: we owe the price. */
  apply(): void;
  /** It was not delivered. Does nothing after `apply`, so it belongs in `finally`. */
  release(): void;
}

/** The mirror image for a service that we provide. */
export interface Debit {
  /** We delivered: the peer owes the price. */
  apply(): void;
  /** Not delivered: ghost balance. Nothing after `apply`. */
  release(): void;
}

export type AccountingErrorCode = 'OVERDRAFT' | 'PEER_NOT_CONNECTED';

export class AccountingError extends CodedError<AccountingErrorCode> {}

/** Accounting units. Positive balance: the peer owes us. */
export interface Accounting {
  /** Price of `address` from `peerOverlay`: (32 - proximity order) x price per proximity. */
  price(peerOverlay: Uint8Array, address: Uint8Array): bigint;
  /** @param originated our own request, not forwarded @throws AccountingError */
  prepareCredit(peer: Peer, price: bigint, originated: boolean): Credit;
  /**
   * Calls `wake` once, in order, when a payment, a threshold or an abandoned request gives credit for `price`. Time
   * alone wakes none.
   */
  awaitCredit(peer: Peer, price: bigint, wake: () => void): Disposable;
  /** @throws AccountingError */
  prepareDebit(peer: Peer, price: bigint): Debit;
  /** What a peer announced in the pricing protocol. */
  thresholdAnnounced(peer: Peer, threshold: bigint): void;
  /** Threshold that we grant, as announced. */
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

/** A creditor's answer to a refresh, clock checked. */
export interface Refreshment {
  /** 0 <= accepted <= attempted. */
  readonly accepted: bigint;
  /** Between the creditor's stamps of this and the last refresh (first: since the epoch). */
  readonly allegedSeconds: bigint;
}

/** Accounting as the cheque protocol sees it. */
export interface PaymentLedger {
  /**
   * An accepted cheque pays the debt; the rest is surplus for later services. A payment never makes this node owe:
   * the cheque may bounce.
   */
  paymentReceived(peer: Peer, amount: bigint): void;
  /** What the peer took from us before it was owed, in this session. Pays later debts. */
  paidAhead(peer: Peer, amount: bigint): void;
}

/** Accounting as the time settlement protocol sees it. */
export interface RefreshLedger {
  connected(peer: Peer): void;
  disconnected(peer: Peer): void;
  /** Debt that the peer may pay now, debits in progress included; 0 when it owes nothing. */
  payableDebt(peer: Peer): bigint;
  /** Paid by time: the balance falls, perhaps below zero. */
  refreshmentReceived(peer: Peer, amount: bigint): void;
}
