import type { NodeOptions } from '../options.ts';
import { forClass } from './rules.ts';

/** By default a cheque is worth at least a second's refresh divided by this. */
const MINIMUM_PAYMENT_DIVISOR = 5n;

/** Constants of accounting, which all nodes of a network must share; light nodes give their own rate. */
export interface AccountingTerms {
  /** Debt that a full peer may reach before it must settle. */
  readonly paymentThreshold: bigint;
  /** Debt above the threshold at which a peer is disconnected, percent. */
  readonly tolerancePercent: number;
  /** Part of the threshold that is left when this node settles, percent. */
  readonly earlyPercent: number;
  /** Debt forgiven per second between this node and a full peer. */
  readonly refreshRate: bigint;
  /** Least time between the end of a refresh and the next one with the same peer, ms. */
  readonly refreshIntervalMs: number;
  /** Mode of this node. */
  readonly fullNode: boolean;
  /** Light peers get every limit and the refresh rate divided by this. */
  readonly lightFactor: bigint;
  readonly pricePerProximity: bigint;
  /** Lowest amount worth a cheque. */
  readonly minimumPayment: bigint;
  /** Pause after a failed payment before the next one to the same peer. */
  readonly paymentRetryMs: number;
  /** First growth checkpoint, and distance to the next ones, in seconds of refresh rate. */
  readonly growthStepSeconds: bigint;
  /** From this checkpoint on (seconds of refresh rate) the next one is twice as far. */
  readonly growthLinearSeconds: bigint;
}

/** A node's options for accounting, time settlement and pricing, scaled to its class. */
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
    // A light node, too, announces the threshold of a full one.
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
