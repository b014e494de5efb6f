/** Decisions of the puller, without network. `p2p-protocols.md` 7.3. */
import { MAX_PO } from '../chunk/address.ts';
import type { BinRange } from '../protocols/pullsync/pullsync.ts';

/** Bits by which a peer may lie outside the neighbourhood and not be far. */
const OUTSIDE_MAX = 2;
/**
 * Entries of a far peer's bin beyond which it is not pulled: the list has all of them, and of `d` bits outside only
 * one in 2^(d - 1) is for us. A peer has such entries when it stored them while their neighbourhood was away or
 * its own radius was small, and nobody would find them there.
 */
export const FAR_ENTRIES_MAX = 10_000n;
/** Chunks pulled from all peers together, and how many at once. */
export const PULLING = { perSecond: 1_000, burst: 1_000 } as const;
/** The peers are reviewed at least this often, milliseconds. */
export const RECALCULATE_MS = 300_000;
/** Pause after a failure, doubled with every further one up to the longest, milliseconds. */
const BACK_OFF_MS = 500;
const BACK_OFF_MAX_MS = 60_000;

/** Bins of a peer, both ends included. */
export interface PulledBins extends BinRange {
  /** Only from a peer that announces news, and only while its bin is small. */
  readonly isFar: boolean;
}

/**
 * Bins of a peer to pull. The bins are the peer's: a neighbour holds chunks for us in all bins from the radius on.
 * For a peer outside, with proximity order p to us, bin p holds exactly the chunks that are nearer to us than p.
 */
export function binsToPull({ po, radius }: { po: number; radius: number }): PulledBins {
  if (po >= radius) return { from: radius, to: MAX_PO, isFar: false };
  return { from: po, to: po, isFar: radius - po > OUTSIDE_MAX };
}

/** @param failures in a row, at least 1 */
export function backOffMs(failures: number): number {
  return Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** (failures - 1));
}
