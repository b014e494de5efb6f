/** Decisions of the Kademlia table. Pure. `p2p-protocols.md` 6. */
import { proximityOrder } from '../chunk/address.ts';

/** A bin takes no further inbound peer from here on. */
export const OVER_SATURATION = 18;
/** Neighbours that are dialled per bin and round. */
export const NEIGHBOUR_DIALS_PER_BIN = 8;
/** Peers of other bins that hear of a new one. */
export const BROADCAST_BIN_SIZE = 2;
/** Each bin is divided by this many bits into slots, so that its peers spread over it. */
const SLOT_BITS = 4;
export const SLOTS = 2 ** SLOT_BITS;

/** Longest time between two dial rounds. */
export const ROUND_MS = 15_000;
/** After a failed dial or a disconnect. */
export const RETRY_MS = 20_000;
/** After a successful dial. */
export const REDIAL_MS = 10_000;
const ATTEMPTS_MAX = 4;
const NEIGHBOUR_ATTEMPTS_MAX = 6;

/** First pause when no bootnode answered; it doubles up to the longest. A local cluster's first node is up in a moment. */
const BOOTNODE_PAUSE_MIN_MS = 50;
const BOOTNODE_PAUSE_MAX_MS = 20_000;

/**
 * Slot of a peer in its bin: the four bits after the first bit in which it differs from `own`.
 * @param bin proximity order of both @returns 0..15; undefined when they share the whole prefix of the last bin
 */
export function slotOf(own: Uint8Array, overlay: Uint8Array, bin: number): number | undefined {
  if (bitAt(own, bin) === bitAt(overlay, bin)) return undefined;
  let slot = 0;
  for (let i = 1; i <= SLOT_BITS; i++) slot = slot * 2 + bitAt(overlay, bin + i);
  return slot;
}

function bitAt(address: Uint8Array, index: number): number {
  return ((address[index >> 3] as number) >> (7 - (index & 7))) & 1;
}

/** Is the peer given up after this many failed dials? */
export function isGivenUp(
  attempts: number,
  peer: { own: Uint8Array; overlay: Uint8Array; radius: number },
): boolean {
  const neighbour = proximityOrder(peer.own, peer.overlay) >= peer.radius;
  return attempts >= (neighbour ? NEIGHBOUR_ATTEMPTS_MAX : ATTEMPTS_MAX);
}

/** @param failedPasses passes over all bootnodes in a row that left us without a peer, from 1 */
export function bootnodePauseMs(failedPasses: number): number {
  // Beyond 2^20 the longest pause has long been reached.
  return Math.min(BOOTNODE_PAUSE_MIN_MS * 2 ** Math.min(failedPasses - 1, 20), BOOTNODE_PAUSE_MAX_MS);
}

/** Slots of a bin without a connected peer, and the known peers that could fill them, one per slot, oldest first. */
export function balancedCandidates<T extends { readonly overlay: Uint8Array }>(
  bin: { own: Uint8Array; index: number; connected: Iterable<{ readonly overlay: Uint8Array }> },
  candidates: Iterable<T>,
): T[] {
  const filled = new Set<number | undefined>([undefined]);
  for (const { overlay } of bin.connected) filled.add(slotOf(bin.own, overlay, bin.index));
  const chosen: T[] = [];
  for (const candidate of candidates) {
    const slot = slotOf(bin.own, candidate.overlay, bin.index);
    if (filled.has(slot)) continue;
    filled.add(slot);
    chosen.push(candidate);
  }
  return chosen;
}
