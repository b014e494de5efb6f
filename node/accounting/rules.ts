/**
 * The arithmetic of accounting, without state, clock or network. `p2p-protocols.md` 5, `node-behaviour.md` 5.
 * Amounts are bigint throughout: a sum or comparison costs 3 to 5 ns (`test/bench/accounting.bench.ts`), and the
 * thresholds that peers announce have no upper bound that a double would survive.
 */
import { MAX_PO, proximityOrder } from '../../formats/chunk/address.ts';

/**
 * How often the blocklist time of a peer that keeps misbehaving doubles: to at most eight times the first.
 * What looks like misbehaviour may be a wrong clock, which its operator will correct.
 */
const DOUBLINGS_MAX = 3;

/** Amounts between this node and one peer. Positive balance: the peer owes us. */
export interface Amounts {
  balance: bigint;
  /** Received beyond what the peer owed. */
  surplus: bigint;
  /** Part (<= 0) of our debt caused by our own requests; above zero: paid for it beyond the debt. */
  originated: bigint;
  /** Credits in progress: what we will owe. */
  reserved: bigint;
  /** Our debits and payments in progress: what the peer will owe, and by how much our debt will fall. */
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

/** An amount granted in full to full peers and in part to light ones. */
export function forClass(amount: bigint, fullNode: boolean, lightFactor: bigint): bigint {
  return fullNode ? amount : amount / lightFactor;
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

/**
 * Allowance for the time since the last refresh: nothing in the first second, one second's worth after it.
 */
export function refreshDue(elapsedMs: number, rate: bigint): bigint {
  return elapsedMs >= 1000 ? rate : 0n;
}

/**
 * Whether the peer owes more than an honest one can. It asks for as much as the threshold and one second of refresh
 * allow; in the second after a refresh it may still get what it had asked for before, however little the refresh
 * paid. And it may already count as paid what we have asked for but not yet received. Our overpayment is not its
 * debt.
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

/** What a settlement would pay now: our debt less what the peer will owe us for debits in progress. */
export function debtToSettle(amounts: Amounts): bigint {
  const { balance, surplus, shadowReserved } = amounts;
  if (balance >= 0n || surplus - balance < shadowReserved) return 0n;
  return -balance - shadowReserved;
}

/**
 * What a cheque would pay now: the part of the debt caused by our own requests that neither the next refresh nor
 * debits in progress will pay. Nothing before a first refresh with the peer has succeeded: that one pays any debt,
 * however large.
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

/** Debt of the peer that a refresh may pay: including debits in progress, never negative. */
export function payableDebt(amounts: Amounts): bigint {
  const debt = amounts.balance + amounts.shadowReserved;
  return debt > 0n ? debt : 0n;
}

/** The debt caused by our own requests cannot exceed the debt. */
export function boundedOriginated(originated: bigint, balance: bigint): bigint {
  const lowest = balance < 0n ? balance : 0n;
  return originated < lowest ? lowest : originated;
}

/**
 * What the peer may have paid by cheque without counting it: cheques whose acceptance it did not learn of. Its next
 * payment is reduced by them, so together they are worth no more than the debt that it may reach.
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

/** Our overpayment cannot exceed what the peer owes. */
export function boundedOverpaid(overpaid: bigint, balance: bigint): bigint {
  const most = balance > 0n ? balance : 0n;
  return overpaid < most ? overpaid : most;
}

/** Lowest amount that an honest creditor accepts for a refresh. */
export function expectedAcceptance(refresh: {
  attempted: bigint;
  /** Debits prepared while the refresh ran: they shrink the debt that the creditor sees. */
  reservedMeanwhile: bigint;
  /** Cheques in both directions that only one side may have counted: the creditor may see that much less debt. */
  inDoubt: bigint;
  /** Seconds between the creditor's stamps of this refresh and the one before. */
  allegedSeconds: bigint;
  rate: bigint;
}): bigint {
  const byTime = refresh.allegedSeconds * refresh.rate;
  const byDebt = refresh.attempted - refresh.reservedMeanwhile - refresh.inDoubt;
  return byTime < byDebt ? byTime : byDebt;
}

/** What the peer owes, is about to owe, and was offered in vain. */
export function latentDebt({ balance, shadowReserved, ghost }: Amounts): bigint {
  return (balance > 0n ? balance : 0n) + shadowReserved + ghost;
}

/** The rest of a debt that time has forgiven in part, never negative. */
export function debtLeft(debt: bigint, since: { elapsedMs: number; rate: bigint }): bigint {
  if (debt === 0n) return 0n;
  const left = debt - (BigInt(Math.floor(since.elapsedMs)) * since.rate) / 1000n;
  return left > 0n ? left : 0n;
}

/**
 * How long a misbehaving peer is refused: the time in which its debt would have been forgiven, whole seconds, and
 * longer each time. The doubling is a deliberate difference: Bees refuse equally long every time.
 */
export function blocklistMs(
  debt: bigint,
  options: {
    paymentThreshold: bigint;
    refreshRate: bigint;
    /** Earlier offences without a settlement since. */
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

/** Repaid debt at which the granted threshold grows for the first time. */
export function firstGrowth(rate: bigint, { growthStepSeconds }: Growth): bigint {
  return rate * growthStepSeconds;
}

/** The checkpoint after `checkpoint`: linear steps at first, doubling later. */
export function nextGrowth(checkpoint: bigint, rate: bigint, growth: Growth): bigint {
  return checkpoint < rate * growth.growthLinearSeconds
    ? checkpoint + rate * growth.growthStepSeconds
    : checkpoint * 2n;
}
