import type { NodeOptions } from '../options.ts';
import { forClass } from './rules.ts';

/** The least cheque, by default, is a second's refresh divided by this. */
const MINIMUM_PAYMENT_DIVISOR = 5n;

/** Shared by all nodes of a network; light nodes give their own rate. */
export interface AccountingTerms {
  /** Debt at which a full peer must settle. */
  readonly paymentThreshold: bigint;
  /** Above the threshold, before a disconnect. */
  readonly tolerancePercent: number;
  /** Left of the threshold when this node settles. */
  readonly earlyPercent: number;
  /** Forgiven by a full peer per second. */
  readonly refreshRate: bigint;
  /** Least time between refreshes of one peer. */
  readonly refreshIntervalMs: number;
  readonly fullNode: boolean;
  /** Divides limits and rate of light peers. */
  readonly lightFactor: bigint;
  readonly pricePerProximity: bigint;
  /** The lowest amount worth a cheque. */
  readonly minimumPayment: bigint;
  /** Pause after a failed payment to the same peer. */
  readonly paymentRetryMs: number;
  /** First checkpoint, and distance to the next, in seconds of refresh rate. */
  readonly growthStepSeconds: bigint;
  /** From this checkpoint on the next one is twice as far. */
  readonly growthLinearSeconds: bigint;
}

/** Terms by options, scaled to the node's class. */
export interface PaymentTerms extends AccountingTerms {
  /** Zero: derived from the refresh rate. */
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
