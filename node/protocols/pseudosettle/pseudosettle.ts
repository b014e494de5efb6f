/**
 * Settlement by time: a debt shrinks by the refresh rate per second elapsed, whenever the debtor asks. `p2p-protocols.md`
 * 4.6, `node-behaviour.md` 5.6.
 *
 *   debtor                                    creditor
 *   Payment{amount}            ──►            now ≠ second of the last one, else reset
 *                                             accepted = min(amount, seconds × rate, debt)
 *                                             balance −= accepted, note now
 *   check clock and amount     ◄──            PaymentAck{accepted, now}
 *   balance += accepted (by accounting)
 *
 * The creditor stamps before the debtor starts counting, so an honest debtor is never too early, whatever the clocks'
 * offset. Accounting keeps the distance, and the persisted time keeps it across a restart.
 *
 * Any failure here makes accounting blocklist the creditor, unless it has left.
 */

import type { Clock } from '../../../formats/clock.ts';
import type { RefreshLedger, Refreshment, TimeSettlement } from '../../accounting/ports.ts';
import { forClass } from '../../accounting/rules.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import type { Host, MessageStream, Peer } from '../../p2p/host.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import { encodeAmount } from '../amounts.ts';
import { converse } from '../conversation.ts';
import { PSEUDOSETTLE_METRICS } from './metrics.ts';
import {
  acceptedAmount,
  amountOf,
  type ClockTolerance,
  checkAnswer,
  elapsedSince,
  momentOfStamp,
  PseudosettleError,
  unixSeconds,
} from './rules.ts';
import { SettlementStore } from './settlement-store.ts';
import { Payment, PaymentAck, PSEUDOSETTLE } from './wire.ts';

const TIMEOUT_MS = 5_000;

export interface PseudosettleOptions extends ClockTolerance {
  /** Forgiven to a full peer per second, accounting units. */
  readonly refreshRate: bigint;
  /** Divisor for light peers. */
  readonly lightFactor: bigint;
  /** Least time between refreshes, across a restart too, ms. */
  readonly refreshIntervalMs: number;
}

export interface PseudosettleDeps {
  readonly host: Pick<Host, 'handle' | 'open' | 'onConnect' | 'onDisconnected'>;
  readonly accounting: RefreshLedger;
  readonly state: KeyValueStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Pseudosettle {
  /**
   * Asks `peer` to forgive up to `amount`, at most once per second.
   * @throws PseudosettleError when the answer breaks a rule; StreamError, TimeoutError when there is none
   */
  settle(peer: Peer, amount: bigint): Promise<Refreshment>;
  settlements(): TimeSettlement[];
  settlement(overlayHex: string): TimeSettlement | undefined;
}

/** Opens the account of every peer that connects: create it before other protocols. */
export function createPseudosettle(options: PseudosettleOptions, deps: PseudosettleDeps): Pseudosettle {
  const { host, accounting } = deps;
  const protocol = new TimeSettlements(options, deps);
  host.handle(PSEUDOSETTLE, (stream, signal) => protocol.serve(stream, signal));
  host.onConnect(async (peer) => accounting.connected(peer));
  host.onDisconnected((peer) => accounting.disconnected(peer));
  return protocol;
}

class TimeSettlements implements Pseudosettle {
  readonly #options: PseudosettleOptions;
  readonly #deps: PseudosettleDeps;
  readonly #metrics: MetricsOf<typeof PSEUDOSETTLE_METRICS>;
  readonly #store: SettlementStore;

  constructor(options: PseudosettleOptions, deps: PseudosettleDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(PSEUDOSETTLE_METRICS);
    this.#store = new SettlementStore(deps);
  }

  settlements(): TimeSettlement[] {
    return this.#store.totals();
  }

  settlement(overlayHex: string): TimeSettlement | undefined {
    return this.#store.total(overlayHex);
  }

  async serve(stream: MessageStream, signal: AbortSignal): Promise<void> {
    using deadline = this.#deps.clock.deadline(TIMEOUT_MS, signal);
    try {
      const payment = await stream.read(Payment, deadline.signal);
      await stream.write(PaymentAck, this.#accept(stream.peer, amountOf(payment.amount)));
    } catch (error) {
      this.#metrics.receivedErrors.inc();
      throw error;
    }
  }

  /** Synchronous: two refreshes at once cannot both count, and the balance changes before the debtor hears of it. */
  #accept(peer: Peer, attempted: bigint): { amount: Uint8Array; timestamp: bigint } {
    const { clock } = this.#deps;
    const [now, atMs] = [unixSeconds(clock.now()), clock.monotonic()];
    const last = this.#store.received(peer.overlayHex);
    if (last.timestamp === now) {
      throw new PseudosettleError('SETTLEMENT_TOO_SOON', 'settlement too soon');
    }
    const accepted = acceptedAmount({
      attempted,
      debt: this.#deps.accounting.payableDebt(peer),
      elapsedSeconds: elapsedSince(
        now - last.timestamp,
        last.atMs === undefined ? undefined : atMs - last.atMs,
      ),
      rate: forClass(this.#options.refreshRate, peer.fullNode, this.#options.lightFactor),
    });
    this.#store.noteReceived(peer.overlayHex, { timestamp: now, atMs, total: last.total + accepted });
    this.#deps.accounting.refreshmentReceived(peer, accepted);
    this.#metrics.received.inc();
    this.#metrics.receivedAmount.inc(Number(accepted));
    return { amount: encodeAmount(accepted), timestamp: now };
  }

  async settle(peer: Peer, amount: bigint): Promise<Refreshment> {
    try {
      const refreshment = await this.#pay(peer, amount);
      this.#metrics.sent.inc();
      this.#metrics.sentAmount.inc(Number(refreshment.accepted));
      return refreshment;
    } catch (error) {
      this.#metrics.sentErrors.inc();
      if (error instanceof PseudosettleError) this.#countBrokenRule(error);
      throw error;
    }
  }

  async #pay(peer: Peer, attempted: bigint): Promise<Refreshment> {
    const { clock } = this.#deps;
    const last = this.#store.sent(peer.overlayHex);
    await this.#keepDistance(last.checkedAtMs, peer.closed);
    const startedAt = unixSeconds(clock.now());
    const answer = await this.#ask(peer, attempted);
    const nowMs = clock.now();
    const moment = momentOfStamp(answer.timestamp, { startedAt, endedAt: unixSeconds(nowMs) });
    checkAnswer({ attempted, ...answer }, { moment, last }, this.#options);
    this.#store.noteSent(peer.overlayHex, {
      timestamp: answer.timestamp,
      checkedAt: moment,
      checkedAtMs: nowMs,
      total: last.total + answer.accepted,
    });
    return { accepted: answer.accepted, allegedSeconds: answer.timestamp - last.timestamp };
  }

  async #ask(peer: Peer, attempted: bigint): Promise<{ accepted: bigint; timestamp: bigint }> {
    using deadline = this.#deps.clock.deadline(TIMEOUT_MS);
    const conversation = { peer, protocol: PSEUDOSETTLE.id, signal: deadline.signal };
    return await converse(conversation, this.#deps, async (stream) => {
      await stream.write(Payment, { amount: encodeAmount(attempted) });
      const ack = await stream.read(PaymentAck, deadline.signal);
      return { accepted: amountOf(ack.amount), timestamp: ack.timestamp };
    });
  }

  /** A clock set back must not prolong the wait. */
  async #keepDistance(checkedAtMs: number, closed: AbortSignal): Promise<void> {
    const { refreshIntervalMs } = this.#options;
    const waitMs = Math.min(checkedAtMs + refreshIntervalMs - this.#deps.clock.now(), refreshIntervalMs);
    if (waitMs > 0) await this.#deps.clock.sleep(waitMs, closed);
  }

  #countBrokenRule({ code }: PseudosettleError): void {
    if (code === 'REFRESHMENT_ABOVE_EXPECTED') this.#metrics.aboveExpected.inc();
    if (code === 'TIME_OUT_OF_SYNC_ALLEGED') this.#metrics.outOfSyncAlleged.inc();
    if (code === 'TIME_OUT_OF_SYNC_RECENT') this.#metrics.outOfSyncRecent.inc();
    if (code === 'TIME_OUT_OF_SYNC_INTERVAL') this.#metrics.outOfSyncInterval.inc();
  }
}
