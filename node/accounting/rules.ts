/**
 * The arithmetic of accounting, without state, clock or network. `p2p-protocols.md` 5, `node-behaviour.md` 5.
 *
 * Amounts are bigint everywhere, also inside: a sum or a comparison costs 3 to 5 ns (a prepare and apply together
 * stay well below a microsecond, see `test/bench/accounting.bench.ts`), and thresholds announced by a peer have
 * no upper bound that a double would survive.
 */
import { MAX_PO, proximityOrder } from '../chunk/address.ts';

/** Accounting units per step of proximity order: what every node of the network charges. */
export const PRICE_PER_PROXIMITY = 10_000n;
/** Light peers get a tenth of every limit and of the refresh rate. */
const LIGHT_FACTOR = 10n;
/** First growth checkpoint and distance of the next ones, in seconds of refresh rate. */
const GROWTH_STEP_SECONDS = 100n;
/** From this checkpoint on (seconds of refresh rate) the next one is twice as far. */
const GROWTH_LINEAR_SECONDS = 1800n;

/** Amounts between this node and one peer. Positive balance: the peer owes us. */
export interface Amounts {
  balance: bigint;
  /** Received beyond what the peer owed. */
  surplus: bigint;
  /** Part (<= 0) of our debt that our own requests caused; above zero what was paid for it beyond the debt. */
  originated: bigint;
  /** Credits in progress: what we will owe. */
  reserved: bigint;
  /** Debits and payments of ours in progress: what the peer will owe, and what we will owe less. */
  shadowReserved: bigint;
  /** Debits prepared but never applied. */
  ghost: bigint;
}

/** Price of a chunk per proximity order between chunk and serving node, 0..31. */
export function priceTable(pricePerProximity: bigint): readonly bigint[] {
  return Array.from({ length: MAX_PO + 1 }, (_, po) => BigInt(MAX_PO + 1 - po) * pricePerProximity);
}

export function priceOf(table: readonly bigint[], serverOverlay: Uint8Array, address: Uint8Array): bigint {
  return table[proximityOrder(serverOverlay, address)]!;
}

/** An amount that is granted in full to full peers and to a tenth to light ones. */
export function forClass(amount: bigint, fullNode: boolean): bigint {
  return fullNode ? amount : amount / LIGHT_FACTOR;
}

/** Debt at which we settle before the peer asks for it. */
export function earlyPayment(thresholdReceived: bigint, earlyPercent: number): bigint {
  return (thresholdReceived * BigInt(100 - earlyPercent)) / 100n;
}

/** Debt at which the peer is disconnected. */
export function disconnectLimit(thresholdGiven: bigint, tolerancePercent: number): bigint {
  return (thresholdGiven * BigInt(100 + tolerancePercent)) / 100n;
}

/** What we would owe if every open request and one of `price` were delivered. */
export function expectedDebt(amounts: Amounts, price: bigint): bigint {
  const { balance, reserved, surplus } = amounts;
  return (balance < 0n ? -balance : 0n) + reserved + price + surplus;
}

/** Allowance for the time that has passed since the last refresh: nothing within the first second, one second's after. */
export function refreshDue(elapsedMs: number, rate: bigint): bigint {
  return elapsedMs >= 1000 ? rate : 0n;
}

/**
 * Whether the peer owes what an honest one can not. It asks for as much as the threshold and one second of refresh
 * allow; in the second after a refresh it may still get what it had asked for before, however little the refresh
 * paid. And it may have counted as paid what we asked of it and have not received yet.
 */
export function hasOverdrawn(account: {
  readonly balance: bigint;
  readonly reserved: bigint;
  readonly disconnectLimit: bigint;
  readonly rate: bigint;
}): boolean {
  const { balance, reserved, rate } = account;
  return balance - reserved >= account.disconnectLimit + rate;
}

/** What a settlement would pay now: debt less what the peer will owe us for debits in progress. */
export function debtToSettle(amounts: Amounts): bigint {
  const { balance, surplus, shadowReserved } = amounts;
  if (balance >= 0n || surplus - balance < shadowReserved) return 0n;
  return -balance - shadowReserved;
}

/**
 * What a cheque would pay now: of the debt that our own requests caused, what neither the next refresh nor debits in
 * progress will pay. Nothing before a refresh with the peer has succeeded: it pays any debt, however large.
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

/** Debt of the peer as a refresh may pay it: with debits in progress, never negative. */
export function payableDebt(amounts: Amounts): bigint {
  const debt = amounts.balance + amounts.shadowReserved;
  return debt > 0n ? debt : 0n;
}

/** Our own requests can not have caused more debt than there is. */
export function boundedOriginated(originated: bigint, balance: bigint): bigint {
  const lowest = balance < 0n ? balance : 0n;
  return originated < lowest ? lowest : originated;
}

/** Least amount that an honest creditor accepts of a refresh. */
export function expectedAcceptance(refresh: {
  attempted: bigint;
  /** Debits prepared while the refresh ran: they shrink the debt that the creditor sees. */
  reservedMeanwhile: bigint;
  /** Between the creditor's stamps of this and the previous refresh. */
  allegedSeconds: bigint;
  rate: bigint;
}): bigint {
  const byTime = refresh.allegedSeconds * refresh.rate;
  const byDebt = refresh.attempted - refresh.reservedMeanwhile;
  return byTime < byDebt ? byTime : byDebt;
}

/** How long a misbehaving peer is refused: the time in which its debt would have been forgiven, whole seconds. */
export function blocklistMs(
  amounts: Amounts,
  options: { paymentThreshold: bigint; refreshRate: bigint },
): number {
  const { balance, shadowReserved, ghost } = amounts;
  const latentDebt = (balance > 0n ? balance : 0n) + shadowReserved + ghost;
  const atLeast = latentDebt > options.refreshRate ? latentDebt : options.refreshRate;
  return Number((atLeast + options.paymentThreshold) / options.refreshRate) * 1000;
}

/** Repaid debt at which the granted threshold grows for the first time. */
export function firstGrowth(rate: bigint): bigint {
  return rate * GROWTH_STEP_SECONDS;
}

/** The checkpoint after `checkpoint`: linear steps at first, doubling later. */
export function nextGrowth(checkpoint: bigint, rate: bigint): bigint {
  return checkpoint < rate * GROWTH_LINEAR_SECONDS
    ? checkpoint + rate * GROWTH_STEP_SECONDS
    : checkpoint * 2n;
}
