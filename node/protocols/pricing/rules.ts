/** Which threshold is acceptable. Pure. `p2p-protocols.md` 4.3 and 5.2. */

/** Less than two seconds' worth cannot be settled by time. */
const MINIMUM_SECONDS = 2n;

/**
 * Accounting units.
 * @param terms of the node's class; minimum zero: from the refresh rate
 */
export function minimumThreshold(terms: { thresholdMinimum: bigint; refreshRate: bigint }): bigint {
  return terms.thresholdMinimum === 0n ? MINIMUM_SECONDS * terms.refreshRate : terms.thresholdMinimum;
}
