/** Decisions of the puller, without network. `p2p-protocols.md` 7.3. */
import { MAX_PO } from '../chunk/address.ts';

/** Bits by which a peer may lie outside the neighbourhood and still be pulled from. */
const OUTSIDE_MAX = 2;
/** Chunks pulled from all peers together, and how many at once. */
export const PULLING = { perSecond: 1_000, burst: 1_000 } as const;
/** The peers are reviewed at least this often, milliseconds. */
export const RECALCULATE_MS = 300_000;
/** Pause after a failure, doubled with every further one up to the longest, milliseconds. */
const BACK_OFF_MS = 500;
const BACK_OFF_MAX_MS = 60_000;

/**
 * Bins of a peer to pull, both ends included. The bins are the peer's: a neighbour holds chunks for us in all
 * bins from the radius on. For a peer outside, with proximity order p to us, bin p holds exactly the chunks
 * that are nearer to us than p.
 * @returns undefined when there is nothing for us
 */
export function binsToPull({
  po,
  radius,
}: {
  po: number;
  radius: number;
}): { readonly from: number; readonly to: number } | undefined {
  if (po >= radius) return { from: radius, to: MAX_PO };
  return radius - po <= OUTSIDE_MAX ? { from: po, to: po } : undefined;
}

/** @param failures in a row, at least 1 */
export function backOffMs(failures: number): number {
  return Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** (failures - 1));
}
