import type { NodeOptions } from '../options.ts';
import { forClass } from './rules.ts';

/** A cheque's default minimum: a second's refresh divided by this. */
const MINIMUM_PAYMENT_DIVISOR = 5n;

/** Constants that all nodes of a network share; light nodes give their own rate. */
export interface AccountingTerms {
  /** A full peer's debt before it must settle. */
  readonly paymentThreshold: bigint;
  /** Debt above the threshold at which a peer is disconnected, percent. */
  readonly tolerancePercent: number;
  /** Part of the threshold that is left when this node settles, percent. */
  readonly earlyPercent: number;
  /** Forgiven per second with a full peer. */
  readonly refreshRate: bigint;
  /** Least time between the end of a refresh and the next one with the same peer, ms. */
  readonly refreshIntervalMs: number;
  /** Mode of this node. */
  readonly fullNode: boolean;
  /** Divisor of limits and rate for light peers. */
  readonly lightFactor: bigint;
  readonly pricePerProximity: bigint;
  /** Lowest amount worth a cheque. */
  readonly minimumPayment: bigint;
  /** Pause after a failed payment to the peer. */
  readonly paymentRetryMs: number;
  /** First checkpoint and distance of the next, seconds of refresh rate. */
  readonly growthStepSeconds: bigint;
  /** From here (seconds of refresh rate) the next is twice as far. */
  readonly growthLinearSeconds: bigint;
}

/** Options of accounting, pseudosettle and pricing, scaled to the class. */
export interface PaymentTerms extends AccountingTerms {
  /** Lowest threshold accepted from a peer; zero: derived from the refresh rate. */
  readonly thresholdMinimum: bigint;
  readonly clockToleranceSeconds: bigint;
  readonly intervalToleranceSeconds: bigint;
}

export function paymentTerms(options: NodeOptions): PaymentTerms {
  const fullNode = options['full-node'];
  const lightFactor = BigInt(options['light-factor']);
  const own = (amount: number) => forClass(BigInt(amount), fullNode, lightFactor);
  const refreshRate = own(options['refresh-rate']);
  return {
    // A light node announces a full one's threshold.
    paymentThreshold: BigInt(options['payment-threshold']),
    thresholdMinimum: own(options['payment-threshold-minimum']),
    tolerancePercent: options['payment-tolerance-percent'],
    earlyPercent: options['payment-early-percent'],
    refreshRate,
    refreshIntervalMs: options['refresh-interval'],
    clockToleranceSeconds: BigInt(options['refresh-clock-tolerance']),
    intervalToleranceSeconds: BigInt(options['refresh-interval-tolerance']),
    fullNode,
    lightFactor,
    pricePerProximity: BigInt(options['chunk-price']),
    minimumPayment: own(options['payment-minimum']) || refreshRate / MINIMUM_PAYMENT_DIVISOR,
    paymentRetryMs: options['payment-retry-pause'],
    growthStepSeconds: BigInt(options['threshold-growth-step']),
    growthLinearSeconds: BigInt(options['threshold-growth-linear']),
  };
}
