/** Which threshold is acceptable. Pure. `p2p-protocols.md` 4.3 and 5.2. */

/** Less than two seconds' worth cannot be settled by time. */
const MINIMUM_SECONDS = 2n;

/**
 * @param terms those of the node's class; a minimum of zero is derived from the refresh rate
 * @returns accounting units
 */
export function minimumThreshold(terms: { thresholdMinimum: bigint; refreshRate: bigint }): bigint {
  return terms.thresholdMinimum === 0n ? MINIMUM_SECONDS * terms.refreshRate : terms.thresholdMinimum;
}
