/** Which threshold is acceptable. Pure. `p2p-protocols.md` 4.3 and 5.2. */

/** Less than two seconds' worth cannot be settled by time. */
const MINIMUM_SECONDS = 2n;

/**
 * Lowest threshold that a node accepts, accounting units.
 * @param terms those of the node's class; a minimum of zero means: derived from the refresh rate
 */
export function minimumThreshold(terms: { thresholdMinimum: bigint; refreshRate: bigint }): bigint {
  return terms.thresholdMinimum === 0n ? MINIMUM_SECONDS * terms.refreshRate : terms.thresholdMinimum;
}
