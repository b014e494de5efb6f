import { CodedError } from '../../formats/coded-error.ts';
import type { Peer } from '../p2p/host.ts';

/** Reserves what a service will cost; one of `apply` and `release` takes effect. */
export interface Credit {
  /** Delivered: we owe the price. */
  apply(): void;
  /** Not delivered. Does nothing after `apply`, so it belongs in `finally`. */
  release(): void;
}

/** For a service that we provide. */
export interface Debit {
  /** The peer owes the price. */
  apply(): void;
  /** The price becomes ghost balance. Does nothing after `apply`. */
  release(): void;
}

export type AccountingErrorCode = 'OVERDRAFT' | 'PEER_NOT_CONNECTED';

export class AccountingError extends CodedError<AccountingErrorCode> {}

/** Amounts are accounting units. Positive balance: the peer owes us. */
export interface Accounting {
  /** (32 - proximity order) x price per proximity. */
  price(peerOverlay: Uint8Array, address: Uint8Array): bigint;
  /** @param originated our own request, not a forwarded one @throws AccountingError */
  prepareCredit(peer: Peer, price: bigint, originated: boolean): Credit;
  /**
   * Calls `wake` once, when a payment or threshold lets the peer be asked for `price`, or another request was given up; in
   * order. Time alone wakes none.
   */
  awaitCredit(peer: Peer, price: bigint, wake: () => void): Disposable;
  /** @throws AccountingError */
  prepareDebit(peer: Peer, price: bigint): Debit;
  /** A peer has announced it by pricing. */
  thresholdAnnounced(peer: Peer, threshold: bigint): void;
  /** Granted, as announced by pricing. */
  thresholdFor(peer: Peer): bigint;
  connected(peer: Peer): void;
  disconnected(peer: Peer): void;
  balances(): PeerAccount[];
  balance(overlayHex: string): PeerAccount | undefined;
}

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

export interface TimeSettlement {
  readonly peer: string;
  readonly received: bigint;
  readonly sent: bigint;
}

/** After all checks on its clock. */
export interface Refreshment {
  /** At most what was attempted, never negative. */
  readonly accepted: bigint;
  /** Seconds between the creditor's stamps (first: since the unix epoch). */
  readonly allegedSeconds: bigint;
}

export interface PaymentLedger {
  /**
   * An accepted cheque pays the peer's debt; the rest is surplus for later services. It never makes this node owe: the
   * cheque may bounce.
   */
  paymentReceived(peer: Peer, amount: bigint): void;
  /** Taken by the peer in this session before it was owed; pays later debts. */
  paidAhead(peer: Peer, amount: bigint): void;
}

export interface RefreshLedger {
  connected(peer: Peer): void;
  disconnected(peer: Peer): void;
  /** Debits in progress included; 0 when it owes nothing. */
  payableDebt(peer: Peer): bigint;
  /** Possibly below zero. */
  refreshmentReceived(peer: Peer, amount: bigint): void;
}
