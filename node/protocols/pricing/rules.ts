/** Which threshold is acceptable. Pure. `p2p-protocols.md` 4.3 and 5.2. */

/** A light node pays and is paid a tenth. */
const LIGHT_FACTOR = 10n;
/** Less than two seconds' worth of refreshment can not be settled by time. */
const MINIMUM_SECONDS = 2n;

/** Smallest threshold that a node accepts. @param refreshRate of a full node, accounting units per second */
export function minimumThreshold(refreshRate: bigint, fullNode: boolean): bigint {
  return (MINIMUM_SECONDS * refreshRate) / (fullNode ? 1n : LIGHT_FACTOR);
}
