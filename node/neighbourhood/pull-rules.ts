/** Decisions of the puller, without network. `p2p-protocols.md` 7.3. */
import { MAX_PO } from '../../formats/chunk/address.ts';
import type { BinRange } from '../protocols/pullsync/pullsync.ts';

/** Bits by which a peer may lie outside the neighbourhood without being far. */
const OUTSIDE_MAX = 2;
/**
 * Bin ids of a far peer that have not been read yet, beyond which it is left alone: of the entries of a peer `d` bits
 * outside only one in 2^(d - 1) is for us.
 */
export const FAR_UNREAD_MAX = 10_000n;
/** Chunks pulled from all peers together, and how many at once. */
export const PULLING = { perSecond: 1_000, burst: 1_000 } as const;
/** The peers are reviewed at least this often, milliseconds. */
export const RECALCULATE_MS = 300_000;
/** Pause after a failure, doubled with every further one up to the longest, milliseconds. */
const BACK_OFF_MS = 500;
const BACK_OFF_MAX_MS = 60_000;

/** Bins of a peer, both ends included. */
export interface PulledBins extends BinRange {
  /** Only while little of it is unread. */
  readonly isFar: boolean;
}

/**
 * Bins of a peer to pull. The bins are the peer's: a neighbour holds chunks for us in all bins from the radius on.
 * For a peer outside, with proximity order p to us, bin p holds exactly the chunks that are nearer to us than p.
 * A far peer has such chunks when it stored them while their neighbourhood was away, or before its own radius grew;
 * nobody would find them there.
 * @param peer.isGiven whether it is of the same testbed: nobody else is asked from far away
 * @returns undefined when there is nothing for us
 */
export function binsToPull(peer: { po: number; radius: number; isGiven: boolean }): PulledBins | undefined {
  const { po, radius, isGiven } = peer;
  if (po >= radius) return { from: radius, to: MAX_PO, isFar: false };
  const isFar = radius - po > OUTSIDE_MAX;
  return isFar && !isGiven ? undefined : { from: po, to: po, isFar };
}

/** @param failures in a row, at least 1 */
export function backOffMs(failures: number): number {
  return Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** (failures - 1));
}
