/** Rules of `node-behaviour.md` 7.1 and `http-api-completion.md` 8.2. */
import { ChainError } from '../../../formats/ethereum/chain-error.ts';

/** Added to the suggested tip, for fees that just rose. */
export const TIP_BOOST_PERCENT = 25;
export const TRANSFER_GAS = 21_000n;
/** Gas per byte: zero, other (EIP-7623, never below the older rule). */
const DATA_GAS = { zero: 10n, other: 40n };
/** A third of a public block: a broken estimate must not spend the account. */
const GAS_LIMIT_MAX = 10_000_000n;
/** Of an estimate, as the limit: state may change before the block. */
const ESTIMATE_PERCENT = 133n;
/** For a replacement, public nodes want a tenth more tip and fee cap. */
const REPLACEMENT_PERCENT = 110n;

export interface Fees {
  readonly tipCap: bigint;
  readonly feeCap: bigint;
}

/**
 * @param gasPrice absent: 2 × base fee + boosted tip @param minimumTip without a gas price
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

/** A tenth more tip than the higher of both, added to the higher fee cap, at least a tenth more than the replaced cap. */
export function replacementFees(current: Fees, replaced: Fees): Fees {
  const tipCap = replacing(max(current.tipCap, replaced.tipCap));
  return { tipCap, feeCap: max(max(current.feeCap, replaced.feeCap) + tipCap, replacing(replaced.feeCap)) };
}

function replacing(cap: bigint): bigint {
  return max((cap * REPLACEMENT_PERCENT + 99n) / 100n, cap + 1n);
}

/**
 * @param gasLimit 0 like absent @param minimum of this operation without a limit; 0: none
 * @param estimate undefined when the endpoint could not tell @param fallback without an estimate
 * @param data hex with `0x`
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

/** With less gas a call is never mined: some endpoints drop it silently, and later transactions wait behind it. */
function intrinsicGas(data: string): bigint {
  const bytes = Buffer.from(data.slice(2), 'hex');
  const zeros = BigInt(bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0));
  return TRANSFER_GAS + zeros * DATA_GAS.zero + (BigInt(bytes.length) - zeros) * DATA_GAS.other;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
