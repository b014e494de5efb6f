/**
 * Pure arithmetic. `p2p-protocols.md` 5, `node-behaviour.md` 5. Bigints: a sum costs 3 to 5 ns
 * (`test/bench/accounting.bench.ts`), and announced thresholds have no bound that a double would survive.
 */
import { MAX_PO, proximityOrder } from '../../formats/chunk/address.ts';

/** Of a repeated blocklisting: at most eight times the first. It may be a wrong clock. */
const DOUBLINGS_MAX = 3;

/** Amounts between this node and one peer. Positive balance: the peer owes us. */
export interface Amounts {
  balance: bigint;
  /** Received beyond what the peer owed. */
  surplus: bigint;
  /** <= 0: our debt by own requests; above zero: overpaid. */
  originated: bigint;
  /** Credits in progress: we will owe these. */
  reserved: bigint;
  /** Debits and payments in progress: the peer will owe, and our debt will fall. */
  shadowReserved: bigint;
  /** Debits that were prepared but never applied. */
  ghost: bigint;
}

/** By proximity order of chunk and server, 0..31. */
export function priceTable(pricePerProximity: bigint): readonly bigint[] {
  return Array.from({ length: MAX_PO + 1 }, (_, po) => BigInt(MAX_PO + 1 - po) * pricePerProximity);
}

export function priceOf(table: readonly bigint[], serverOverlay: Uint8Array, address: Uint8Array): bigint {
  return table[proximityOrder(serverOverlay, address)]!;
}

/** Full peers get all of it. */
export function forClass(amount: bigint, fullNode: boolean, lightFactor: bigint): bigint {
  return fullNode ? amount : amount / lightFactor;
}

export function earlyPayment(thresholdReceived: bigint, earlyPercent: number): bigint {
  return (thresholdReceived * BigInt(100 - earlyPercent)) / 100n;
}

/** Debt at which the peer is disconnected. */
export function disconnectLimit(thresholdGiven: bigint, tolerancePercent: number): bigint {
  return (thresholdGiven * BigInt(100 + tolerancePercent)) / 100n;
}

/** If every open request and one of `price` were delivered. */
export function expectedDebt(amounts: Amounts, price: bigint): bigint {
  const { balance, reserved, surplus } = amounts;
  return (balance < 0n ? -balance : 0n) + reserved + price + surplus;
}

/** Nothing in the first second, then one second's worth. */
export function refreshDue(elapsedMs: number, rate: bigint): bigint {
  return elapsedMs >= 1000 ? rate : 0n;
}

/**
 * An honest peer owes at most the threshold and one second of refresh; after a refresh also what it asked for before. It may
 * count as paid what we have not received yet. Our overpayment is not its debt.
 */
export function hasOverdrawn(account: {
  readonly balance: bigint;
  readonly reserved: bigint;
  readonly overpaid: bigint;
  readonly disconnectLimit: bigint;
  readonly rate: bigint;
}): boolean {
  const { balance, reserved, overpaid, rate } = account;
  return balance - reserved - overpaid >= account.disconnectLimit + rate;
}

/** Our debt less debits in progress. */
export function debtToSettle(amounts: Amounts): bigint {
  const { balance, surplus, shadowReserved } = amounts;
  if (balance >= 0n || surplus - balance < shadowReserved) return 0n;
  return -balance - shadowReserved;
}

/**
 * The debt by own requests that neither the next refresh nor debits in progress will pay. Nothing before the first refresh,
 * which pays any debt.
 */
export function chequeAmount(
  amounts: Amounts,
  refresh: { rate: bigint /** Since the last one that succeeded, Infinity without. */; elapsedMs: number },
): bigint {
  if (refresh.elapsedMs === Number.POSITIVE_INFINITY) return 0n;
  const refreshed = BigInt(Math.floor(refresh.elapsedMs / 1000)) * refresh.rate;
  const left = -amounts.balance - refreshed - amounts.shadowReserved;
  return -amounts.originated < left ? -amounts.originated : left;
}

/** Debits in progress included, never negative. */
export function payableDebt(amounts: Amounts): bigint {
  const debt = amounts.balance + amounts.shadowReserved;
  return debt > 0n ? debt : 0n;
}

/** Our own requests cannot cause more than the whole debt. */
export function boundedOriginated(originated: bigint, balance: bigint): bigint {
  const lowest = balance < 0n ? balance : 0n;
  return originated < lowest ? lowest : originated;
}

/**
 * Cheques whose acceptance the peer did not learn of. They reduce its next payment, so together they are worth no more than
 * its debt.
 */
export function paymentsInDoubt(
  {
    receivedInDoubt,
    thresholdGiven,
    rate,
  }: { receivedInDoubt: bigint; thresholdGiven: bigint; rate: bigint },
  amount: bigint,
): bigint {
  const sum = receivedInDoubt + amount;
  const most = thresholdGiven + rate;
  return sum < most ? sum : most;
}

/** It cannot exceed what the peer owes. */
export function boundedOverpaid(overpaid: bigint, balance: bigint): bigint {
  const most = balance > 0n ? balance : 0n;
  return overpaid < most ? overpaid : most;
}

export function expectedAcceptance(refresh: {
  attempted: bigint;
  /** While the refresh ran: they shrink the debt that the creditor sees. */
  reservedMeanwhile: bigint;
  /** Cheques that only one side may have counted: the creditor may see less debt. */
  inDoubt: bigint;
  allegedSeconds: bigint;
  rate: bigint;
}): bigint {
  const byTime = refresh.allegedSeconds * refresh.rate;
  const byDebt = refresh.attempted - refresh.reservedMeanwhile - refresh.inDoubt;
  return byTime < byDebt ? byTime : byDebt;
}

/** Owed, about to be owed, or offered in vain. */
export function latentDebt({ balance, shadowReserved, ghost }: Amounts): bigint {
  return (balance > 0n ? balance : 0n) + shadowReserved + ghost;
}

/** What is left after time has forgiven a part. */
export function debtLeft(debt: bigint, since: { elapsedMs: number; rate: bigint }): bigint {
  if (debt === 0n) return 0n;
  const left = debt - (BigInt(Math.floor(since.elapsedMs)) * since.rate) / 1000n;
  return left > 0n ? left : 0n;
}

/**
 * Whole seconds in which the debt would be forgiven, longer each time. The doubling is a deliberate difference from Bees.
 */
export function blocklistMs(
  debt: bigint,
  options: {
    paymentThreshold: bigint;
    refreshRate: bigint;
    /** Offences without a settlement since. */
    offences: number;
  },
): number {
  const atLeast = debt > options.refreshRate ? debt : options.refreshRate;
  const seconds = Number((atLeast + options.paymentThreshold) / options.refreshRate);
  return seconds * 1000 * 2 ** Math.min(options.offences, DOUBLINGS_MAX);
}

interface Growth {
  readonly growthStepSeconds: bigint;
  readonly growthLinearSeconds: bigint;
}

/** Repaid debt at which the threshold first grows. */
export function firstGrowth(rate: bigint, { growthStepSeconds }: Growth): bigint {
  return rate * growthStepSeconds;
}

/** Linear at first, doubling later. */
export function nextGrowth(checkpoint: bigint, rate: bigint, growth: Growth): bigint {
  return checkpoint < rate * growth.growthLinearSeconds
    ? checkpoint + rate * growth.growthStepSeconds
    : checkpoint * 2n;
}
