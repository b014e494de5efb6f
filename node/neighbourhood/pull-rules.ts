/** Decisions of the puller. `p2p-protocols.md` 7.3. */
import { MAX_PO } from '../../formats/chunk/address.ts';
import type { BinRange } from '../protocols/pullsync/pullsync.ts';

/** Bits outside the neighbourhood before a peer is far. */
const OUTSIDE_MAX = 2;
/** Unread bin ids beyond which a far peer is left alone: `d` bits outside, only one entry in 2^(d - 1) is for us. */
export const FAR_UNREAD_MAX = 10_000n;
/** Chunks from all peers together. */
export const PULLING = { perSecond: 1_000, burst: 1_000 } as const;
export const RECALCULATE_MS = 300_000;
/** Doubled with every further failure. */
const BACK_OFF_MS = 500;
const BACK_OFF_MAX_MS = 60_000;

export interface PulledBins extends BinRange {
  readonly isFar: boolean;
}

/**
 * The bins are the peer's: a neighbour's from the radius on, and of a peer outside, with proximity order p, bin p, which
 * holds exactly the chunks nearer to us than p. A far peer has such chunks from when their neighbourhood was away, or its
 * radius smaller; nobody would find them there.
 * @param peer.isGiven whether it is of the same testbed: nobody else is asked from far away
 * @returns undefined when there is nothing for us
 */
export function binsToPull(peer: { po: number; radius: number; isGiven: boolean }): PulledBins | undefined {
  const { po, radius, isGiven } = peer;
  if (po >= radius) return { from: radius, to: MAX_PO, isFar: false };
  const isFar = radius - po > OUTSIDE_MAX;
  return isFar && !isGiven ? undefined : { from: po, to: po, isFar };
}

/** @param failures in a row */
export function backOffMs(failures: number): number {
  return Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** (failures - 1));
}
