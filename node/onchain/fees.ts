/** What a transaction may cost. Pure rules of `node-behaviour.md` 7.1 and `http-api-completion.md` 8.2. */
import { ChainError } from './ports.ts';

/** Share of the suggested tip that is offered, so that a transaction does not wait for fees that just rose. */
const TIP_PERCENT = 125n;
/** Plain transfer; the chain refuses less. */
const GAS_LIMIT_MIN = 21_000n;
/** A third of a block of the public chain: a broken estimate must not spend the account. */
const GAS_LIMIT_MAX = 10_000_000n;
/** When the endpoint cannot estimate a call: more than any call of a node needs. */
const GAS_LIMIT_FALLBACK = 500_000n;
/** State moves between estimate and block: one third is added. */
const ESTIMATE_PERCENT = 133n;

/** Base units per gas. */
interface Fees {
  readonly tipCap: bigint;
  readonly feeCap: bigint;
}

/**
 * @param gasPrice of the request; absent: 2 × base fee + boosted tip
 * @throws ChainError `GAS_PRICE_TOO_LOW` below the base fee; `RPC_ERROR` on a chain without EIP-1559
 */
export function feesFor(given: {
  readonly baseFee: bigint | undefined;
  readonly suggestedTip: bigint;
  readonly gasPrice: bigint | undefined;
}): Fees {
  const { baseFee, suggestedTip, gasPrice } = given;
  if (baseFee === undefined) {
    throw new ChainError('RPC_ERROR', 'network does not appear to support EIP-1559 (no baseFee)');
  }
  if (gasPrice === undefined) {
    const tipCap = (suggestedTip * TIP_PERCENT) / 100n;
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
 * @param gasLimit of the request, 0 like absent
 * @param estimate of the endpoint, undefined when it could not tell
 */
export function gasLimitFor(given: {
  readonly gasLimit: bigint | undefined;
  readonly estimate: bigint | undefined;
  readonly hasData: boolean;
}): bigint {
  const { gasLimit, estimate, hasData } = given;
  if (gasLimit !== undefined && gasLimit > 0n) return clamp(gasLimit);
  if (estimate !== undefined) return clamp((estimate * ESTIMATE_PERCENT) / 100n);
  return hasData ? GAS_LIMIT_FALLBACK : GAS_LIMIT_MIN;
}

function clamp(gas: bigint): bigint {
  if (gas < GAS_LIMIT_MIN) return GAS_LIMIT_MIN;
  return gas > GAS_LIMIT_MAX ? GAS_LIMIT_MAX : gas;
}
