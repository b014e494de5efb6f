/**
 * Accounting's arithmetic. Pure. `p2p-protocols.md` 5, `node-behaviour.md` 5.
 * Amounts are bigint throughout: 3 to 5 ns per operation (`test/bench/accounting.bench.ts`), and announced thresholds
 * have no bound that a double survives.
 */
import { MAX_PO, proximityOrder } from '../../formats/chunk/address.ts';

/**
 * How often the blocklist time of a peer that keeps misbehaving doubles: to at most eight times the first.
 * What looks like misbehaviour may be a wrong clock, which its operator will correct.
 */
const DOUBLINGS_MAX = 3;

/** Between node and peer. Positive balance: the peer owes us. */
export interface Amounts {
  balance: bigint;
  /** Received beyond what the peer owed. */
  surplus: bigint;
  /** Our debt (<= 0) from own requests; above zero: paid beyond it. */
  originated: bigint;
  /** Credits in progress: what we will owe. */
  reserved: bigint;
  /** Debits and payments in progress: what the peer will owe, and how much our debt falls. */
  shadowReserved: bigint;
  /** Debits prepared but never applied. */
  ghost: bigint;
}

/** Per proximity order between chunk and server, 0..31. */
export function priceTable(pricePerProximity: bigint): readonly bigint[] {
  return Array.from({ length: MAX_PO + 1 }, (_, po) => BigInt(MAX_PO + 1 - po) * pricePerProximity);
}

export function priceOf(table: readonly bigint[], serverOverlay: Uint8Array, address: Uint8Array): bigint {
  return table[proximityOrder(serverOverlay, address)]!;
}

/** In full for full peers, in part for light ones. */
export function forClass(amount: bigint, fullNode: boolean, lightFactor: bigint): bigint {
  return fullNode ? amount : amount / lightFactor;
}

/** Debt at which we settle unasked. */
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
 * Whether a peer owes more than an honest one can: threshold and one second of refresh; in the second after a refresh
 * also what it had asked for; and it may count as paid what we await. Our overpayment is not its debt.
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
 * The debt by own requests that neither the next refresh nor debits pay. Nothing before a first refresh, which pays
 * any debt.
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

/** With debits in progress, never negative. */
export function payableDebt(amounts: Amounts): bigint {
  const debt = amounts.balance + amounts.shadowReserved;
  return debt > 0n ? debt : 0n;
}

/** Own requests' debt is at most the debt. */
export function boundedOriginated(originated: bigint, balance: bigint): bigint {
  const lowest = balance < 0n ? balance : 0n;
  return originated < lowest ? lowest : originated;
}

/**
 * Cheques that the peer did not learn were accepted. They reduce its next payment, so together they are worth no more
 * than the reachable debt.
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

/** Least that an honest creditor accepts. */
export function expectedAcceptance(refresh: {
  attempted: bigint;
  /** Debits during the refresh shrink the visible debt. */
  reservedMeanwhile: bigint;
  /** Cheques that one side may not have counted: the creditor may see less debt. */
  inDoubt: bigint;
  /** Between the creditor's stamps. */
  allegedSeconds: bigint;
  rate: bigint;
}): bigint {
  const byTime = refresh.allegedSeconds * refresh.rate;
  const byDebt = refresh.attempted - refresh.reservedMeanwhile - refresh.inDoubt;
  return byTime < byDebt ? byTime : byDebt;
}

/** Owed, about to be, and offered in vain. */
export function latentDebt({ balance, shadowReserved, ghost }: Amounts): bigint {
  return (balance > 0n ? balance : 0n) + shadowReserved + ghost;
}

/** The rest of a debt that time has forgiven in part, never negative. */
export function debtLeft(debt: bigint, since: { elapsedMs: number; rate: bigint }): bigint {
  if (debt === 0n) return 0n;
  const left = debt - (BigInt(Math.floor(since.elapsedMs)) * since.rate) / 1000n;
  return left > 0n ? left : 0n;
}

/** Time to forgive the debt, whole seconds, longer each time. The doubling is a deliberate difference to Bees. */
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

/** The next checkpoint: linear, later doubling. */
export function nextGrowth(checkpoint: bigint, rate: bigint, growth: Growth): bigint {
  return checkpoint < rate * growth.growthLinearSeconds
    ? checkpoint + rate * growth.growthStepSeconds
    : checkpoint * 2n;
}
