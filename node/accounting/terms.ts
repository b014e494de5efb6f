import type { NodeOptions } from '../options.ts';
import { forClass } from './rules.ts';

/** A cheque is worth at least this part of a second's refresh, unless the options say otherwise. */
const MINIMUM_PAYMENT_DIVISOR = 5n;

/** The constants of accounting. A network works when all its nodes have the same ones; light nodes give their own rate. */
export interface AccountingTerms {
  /** Debt that a full peer may reach before it has to settle. */
  readonly paymentThreshold: bigint;
  /** Debt above the threshold at which a peer is disconnected, percent. */
  readonly tolerancePercent: number;
  /** Part of the threshold that is left when this node settles, percent. */
  readonly earlyPercent: number;
  /** Debt that is forgiven per second between this node and a full peer. */
  readonly refreshRate: bigint;
  /** Least time between the end of a refresh and the next one with the same peer, milliseconds. */
  readonly refreshIntervalMs: number;
  /** Mode of this node. */
  readonly fullNode: boolean;
  /** Light peers get this part of every limit and of the refresh rate. */
  readonly lightFactor: bigint;
  readonly pricePerProximity: bigint;
  /** Least amount that is worth a cheque. */
  readonly minimumPayment: bigint;
  /** After a payment that failed, before the next one to the same peer. */
  readonly paymentRetryMs: number;
  /** First growth checkpoint and distance of the next ones, in seconds of refresh rate. */
  readonly growthStepSeconds: bigint;
  /** From this checkpoint on (seconds of refresh rate) the next one is twice as far. */
  readonly growthLinearSeconds: bigint;
}

/** What accounting, time settlement and pricing are told by the options of a node, in the measure of its class. */
export interface PaymentTerms extends AccountingTerms {
  /** Least threshold accepted from a peer; zero: by the refresh rate. */
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
    // Also a light node announces the threshold of a full one.
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
