/**
 * Pays what we owe: by time, then the rest by cheque. `node-behaviour.md` 5.5 and 5.6. Credits trigger it: a debt that does
 * not grow can wait. One refresh and one payment per peer may run; the caller never waits.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { MetricsOf } from '../env/metrics.ts';
import { type Peer, StreamError } from '../p2p/host.ts';
import type { Account } from './account.ts';
import type { ACCOUNTING_METRICS } from './metrics.ts';
import type { Refreshment } from './ports.ts';
import {
  boundedOriginated,
  boundedOverpaid,
  chequeAmount,
  debtToSettle,
  expectedAcceptance,
} from './rules.ts';
import type { AccountingTerms } from './terms.ts';

/** Time from a broken stream to the connection's end. */
const LEAVING_MS = 250;

export interface Payments {
  /** Rejects when the creditor refused, broke a rule of its clock or is gone. */
  readonly refresh: (peer: Peer, amount: bigint) => Promise<Refreshment>;
  /**
   * Absent without a chequebook. Resolves once the cheque is written and stored and the peer has ended its side or had the
   * time to: it must count the payment no later than we do, or it sees a debt above the limit. Rejects when nothing was
   * paid.
   */
  readonly pay?: (peer: Peer, amount: bigint) => Promise<void>;
  /** Perhaps counted by the peer, but not by us; accounting units. */
  readonly inDoubt?: (peer: Peer) => bigint;
}

interface SettlingDeps extends Payments {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsOf<typeof ACCOUNTING_METRICS>;
  readonly changed: (account: Account) => void;
  readonly blocklist: (account: Account, peer: Peer, reason: string) => void;
}

export class Settling {
  readonly #terms: AccountingTerms;
  readonly #deps: SettlingDeps;
  /** One per peer; never rejects. */
  readonly #payments = new Set<Promise<void>>();

  constructor(terms: AccountingTerms, deps: SettlingDeps) {
    this.#terms = terms;
    this.#deps = deps;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#payments);
  }

  /** If it is worth it. */
  settle(account: Account, peer: Peer): void {
    const { clock, pay } = this.#deps;
    const mayPay = pay !== undefined && !account.paying && !account.takesNoCheques;
    if (account.refreshing && !mayPay) return;
    const debt = debtToSettle(account);
    if (debt < this.#terms.refreshRate) return;
    const now = clock.monotonic();
    if (!account.refreshing && now - account.refreshSentAt >= this.#terms.refreshIntervalMs) {
      account.refreshing = true;
      account.refreshReserved = 0n;
      void this.#refresh(account, peer, debt);
    }
    if (mayPay) this.#payRest(account, { peer, now, pay });
  }

  async #refresh(account: Account, peer: Peer, attempted: bigint): Promise<void> {
    const { clock, log, metrics, refresh, inDoubt } = this.#deps;
    metrics.refreshAttempts.inc();
    const doubt = (inDoubt?.(peer) ?? 0n) + account.receivedInDoubt;
    const answer = await refresh(peer, attempted).catch(async (err: unknown) => {
      log.debug({ err, peer: peer.overlayHex }, 'refresh failed');
      await this.#mayLeave(peer);
      return undefined;
    });
    account.refreshing = false;
    // Also after a failure: the creditor may have stamped it, and refuses another in that second.
    account.refreshSentAt = clock.monotonic();
    account.refreshedAt = answer === undefined ? Number.NEGATIVE_INFINITY : account.refreshSentAt;
    // A peer that left has broken no rule.
    if (account.peer !== peer || peer.closed.aborted) {
      if (answer === undefined) metrics.refreshesOfLeavers.inc();
      return;
    }
    if (answer === undefined) {
      metrics.settleErrors.inc();
      this.#enforce(account, peer, 'failed to refresh');
      return;
    }
    const expected = expectedAcceptance({
      attempted,
      reservedMeanwhile: account.refreshReserved,
      inDoubt: doubt,
      allegedSeconds: answer.allegedSeconds,
      rate: this.#terms.refreshRate,
    });
    if (answer.accepted < expected) {
      metrics.refreshmentBelowExpected.inc();
      this.#enforce(account, peer, 'failed to meet expectation for allowance');
      return;
    }
    account.offences = 0;
    // The creditor saw the whole debt: it has counted what it paid.
    const isWhole = answer.accepted === attempted && debtToSettle(account) === attempted;
    if (isWhole && account.reserved === 0n) account.receivedInDoubt = 0n;
    account.balance += answer.accepted;
    account.originated = boundedOriginated(account.originated, account.balance);
    this.#deps.changed(account);
  }

  /** A broken stream is often a peer's first sign of leaving. */
  async #mayLeave({ closed }: Peer): Promise<void> {
    await this.#deps.clock.sleep(LEAVING_MS, closed).catch((error: unknown) => {
      if (!closed.aborted) throw error;
    });
  }

  #enforce(account: Account, peer: Peer, reason: string): void {
    this.#deps.metrics.disconnectsEnforceRefresh.inc();
    this.#deps.blocklist(account, peer, reason);
  }

  /** Pays unless that is too little, or the last payment just failed. */
  #payRest(
    account: Account,
    { peer, now, pay }: { peer: Peer; now: number; pay: NonNullable<Payments['pay']> },
  ): void {
    const { minimumPayment, paymentRetryMs, refreshRate } = this.#terms;
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
    { peer, amount, pay }: { peer: Peer; amount: bigint; pay: NonNullable<Payments['pay']> },
  ): Promise<void> {
    const { clock, log, metrics } = this.#deps;
    let paid = true;
    try {
      await pay(peer, amount);
    } catch (err) {
      paid = false;
      account.paymentFailedAt = clock.monotonic();
      metrics.paymentErrors.inc();
      // Not supported in this session: only time pays.
      if (err instanceof StreamError && err.code === 'PROTOCOL_UNSUPPORTED') {
        if (account.peer === peer) account.takesNoCheques = true;
        log.info({ peer: peer.overlayHex }, 'peer takes no cheques');
      } else log.warn({ err, peer: peer.overlayHex }, 'payment failed');
    }
    account.paying = false;
    // Both sides forget an ended session's debt.
    if (account.peer !== peer) return;
    account.shadowReserved -= amount;
    if (!paid) return;
    account.balance += amount;
    account.overpaid = boundedOverpaid(account.overpaid + amount, account.balance);
    account.originated += amount;
    this.#deps.changed(account);
  }
}
