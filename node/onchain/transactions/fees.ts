/** What a transaction may cost. Pure rules of `node-behaviour.md` 7.1 and `http-api-completion.md` 8.2. */
import { ChainError } from '../../../formats/ethereum/chain-error.ts';

/** Percentage added to the suggested tip, so that a transaction is not held up by fees that just rose. */
export const TIP_BOOST_PERCENT = 25;
/** Gas of a plain transfer. */
export const TRANSFER_GAS = 21_000n;
/** Minimum gas per byte of data: zero, non-zero (EIP-7623, never below the older rule). */
const DATA_GAS = { zero: 10n, other: 40n };
/** Highest gas limit, a third of a block of the public chain: a broken estimate must not spend the account. */
const GAS_LIMIT_MAX = 10_000_000n;
/** Percentage of an estimate used as the limit: state may change before the block, so a third is added. */
const ESTIMATE_PERCENT = 133n;
/** Public nodes replace a transaction only by one whose tip and fee cap are higher by a tenth. */
const REPLACEMENT_PERCENT = 110n;

/** Base units per gas. */
export interface Fees {
  readonly tipCap: bigint;
  readonly feeCap: bigint;
}

/**
 * @param gasPrice of the request; absent: 2 × base fee + boosted tip
 * @param minimumTip lowest tip without a gas price
 * @throws ChainError `GAS_PRICE_TOO_LOW` below the base fee; `RPC_ERROR` without EIP-1559
 */
export function feesFor(given: {
  readonly baseFee: bigint | undefined;
  readonly suggestedTip: bigint;
  readonly gasPrice: bigint | undefined;
  readonly tipBoostPercent: number;
  readonly minimumTip: bigint;
}): Fees {
  const { baseFee, suggestedTip, gasPrice, tipBoostPercent, minimumTip } = given;
  if (baseFee === undefined) {
    throw new ChainError('RPC_ERROR', 'network does not appear to support EIP-1559 (no baseFee)');
  }
  if (gasPrice === undefined) {
    const tipCap = max((suggestedTip * BigInt(100 + tipBoostPercent)) / 100n, minimumTip);
    return { tipCap, feeCap: 2n * baseFee + tipCap };
  }
  if (gasPrice < baseFee) {
    throw new ChainError(
      'GAS_PRICE_TOO_LOW',
      `specified gas price ${gasPrice} is below current base fee ${baseFee}`,
    );
  }
  return { tipCap: gasPrice - baseFee, feeCap: gasPrice };
}

/**
 * Fees of a replacement: a tenth more tip than the higher of both, added to the higher fee cap, and at least
 * a tenth more than the replaced fee cap.
 */
export function replacementFees(current: Fees, replaced: Fees): Fees {
  const tipCap = replacing(max(current.tipCap, replaced.tipCap));
  return { tipCap, feeCap: max(max(current.feeCap, replaced.feeCap) + tipCap, replacing(replaced.feeCap)) };
}

function replacing(cap: bigint): bigint {
  return max((cap * REPLACEMENT_PERCENT + 99n) / 100n, cap + 1n);
}

/**
 * @param gasLimit of the request, 0 like absent
 * @param minimum lower bound for this operation when no limit is given; 0: none
 * @param estimate of the endpoint, undefined when it could not tell
 * @param fallback for a call that cannot be estimated
 * @param data of the call, hex with `0x`
 */
export function gasLimitFor(given: {
  readonly gasLimit: bigint | undefined;
  readonly minimum: bigint;
  readonly estimate: bigint | undefined;
  readonly fallback: bigint;
  readonly data: string;
}): bigint {
  const { gasLimit, minimum, estimate, fallback, data } = given;
  const least = intrinsicGas(data);
  const clamp = (gas: bigint) => max(least, gas > GAS_LIMIT_MAX ? GAS_LIMIT_MAX : gas);
  if (gasLimit !== undefined && gasLimit > 0n) return clamp(gasLimit);
  if (estimate !== undefined) return clamp(max((estimate * ESTIMATE_PERCENT) / 100n, minimum));
  if (minimum > 0n) return clamp(minimum);
  return data === '0x' ? least : clamp(fallback);
}

/**
 * Gas of a call before it runs. With a lower limit it is never mined: some endpoints refuse it, others accept and
 * silently drop it, and all later transactions of the account wait behind it.
 */
function intrinsicGas(data: string): bigint {
  const bytes = Buffer.from(data.slice(2), 'hex');
  const zeros = BigInt(bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0));
  return TRANSFER_GAS + zeros * DATA_GAS.zero + (BigInt(bytes.length) - zeros) * DATA_GAS.other;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
