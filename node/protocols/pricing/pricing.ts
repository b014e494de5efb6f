/**
 * Both sides tell each other how much debt they grant, after connecting and whenever it grows. `p2p-protocols.md` 4.3.
 *
 *   AnnouncePaymentThreshold{threshold}  ──►        below the minimum, or too many → disconnect
 *                                                   else the limit of its debt with the announcer
 *   both close
 */

import type { Clock } from '../../../formats/clock.ts';
import type { Accounting } from '../../accounting/ports.ts';
import { abortable } from '../../env/abortable.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import { RateLimit } from '../../env/turns/rate-limit.ts';
import { type Host, type MessageStream, type Peer, StreamError } from '../../p2p/host.ts';
import { Refusals } from '../../p2p/peers/refusals.ts';
import { decodeAmount, encodeAmount } from '../amounts.ts';
import { PRICING_METRICS } from './metrics.ts';
import { minimumThreshold } from './rules.ts';
import { AnnouncePaymentThreshold, PRICING } from './wire.ts';

/** Limit of one announcement, sent or received. */
const TIMEOUT_MS = 5_000;

/** An honest peer announces after connecting, and at most once per payment that we make. */
const ANNOUNCEMENTS = { perSecond: 50, burst: 500 } as const;

export interface PricingOptions {
  /** Accounting units; zero: derived from the refresh rate. */
  readonly thresholdMinimum: bigint;
  readonly refreshRate: bigint;
}

export interface PricingDeps {
  readonly host: Pick<Host, 'handle' | 'open' | 'onConnect' | 'disconnect'>;
  readonly accounting: Pick<Accounting, 'thresholdAnnounced' | 'thresholdFor'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Pricing {
  /** Also called when accounting grants more. @throws StreamError and the like */
  announce(peer: Peer, signal: AbortSignal): Promise<void>;
}

/** A new peer that cannot be sent its threshold is disconnected. */
export function createPricing(options: PricingOptions, deps: PricingDeps): Pricing {
  const pricing = new ThresholdExchange(options, deps);
  deps.host.handle(PRICING, (stream, signal) => pricing.serve(stream, signal));
  deps.host.onConnect((peer, signal) => pricing.announce(peer, signal));
  return pricing;
}

class ThresholdExchange implements Pricing {
  readonly #minimum: bigint;
  readonly #refusals: Refusals;
  readonly #limits = new WeakMap<Peer, RateLimit>();
  readonly #deps: PricingDeps;
  readonly #metrics: MetricsOf<typeof PRICING_METRICS>;

  constructor(options: PricingOptions, deps: PricingDeps) {
    this.#minimum = minimumThreshold(options);
    this.#deps = deps;
    this.#refusals = new Refusals(deps);
    this.#metrics = deps.metrics.register(PRICING_METRICS);
  }

  async announce(peer: Peer, signal: AbortSignal): Promise<void> {
    using deadline = this.#deps.clock.deadline(TIMEOUT_MS, signal);
    const stream = await this.#deps.host.open(peer, PRICING.id, { signal: deadline.signal });
    const paymentThreshold = encodeAmount(this.#deps.accounting.thresholdFor(peer));
    try {
      await abortable(stream.write(AnnouncePaymentThreshold, { paymentThreshold }), deadline.signal);
      await abortable(stream.close(), signal);
    } catch (error) {
      stream.reset(error as Error);
      throw error;
    }
  }

  async serve(stream: MessageStream, signal: AbortSignal): Promise<void> {
    const { peer } = stream;
    using deadline = this.#deps.clock.deadline(TIMEOUT_MS, signal);
    const { paymentThreshold } = await stream.read(AnnouncePaymentThreshold, deadline.signal);
    const threshold = decodeAmount(paymentThreshold);
    this.#metrics.received.inc();
    if (threshold === undefined)
      throw new StreamError('MESSAGE_MALFORMED', 'threshold of more than 256 bits');
    if (threshold < this.#minimum) {
      this.#metrics.tooLow.inc();
      const { overlayHex, remoteAddress: address } = peer;
      const detail = `a threshold of ${threshold}, expected ${this.#minimum} or more`;
      this.#refusals.tell({ id: overlayHex, address }, { code: 'THRESHOLD_TOO_LOW', detail });
      await this.#disconnect(peer, threshold, 'threshold too low');
    } else if (!this.#limit(peer).tryTake(1)) {
      this.#metrics.tooMany.inc();
      await this.#disconnect(peer, threshold, 'too many thresholds');
    } else this.#deps.accounting.thresholdAnnounced(peer, threshold);
  }

  async #disconnect(peer: Peer, threshold: bigint, reason: string): Promise<void> {
    this.#deps.log.debug({ peer: peer.overlayHex, threshold: String(threshold) }, reason);
    await this.#deps.host.disconnect(peer.overlayHex, reason);
  }

  #limit(peer: Peer): RateLimit {
    let limit = this.#limits.get(peer);
    if (limit === undefined) {
      limit = new RateLimit(ANNOUNCEMENTS, this.#deps.clock);
      this.#limits.set(peer, limit);
    }
    return limit;
  }
}
