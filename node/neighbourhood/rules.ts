/** `node-behaviour.md` 1.5, 2.5. */

import { addressPrefix, MAX_PO, proximityOrder } from '../../formats/chunk/address.ts';

const FILLED_MIN = 0.5;
/** Of the capacity, so that the smaller radius does not grow again at once. */
const WITHIN_SMALLER_MAX = 0.8;

/** Chunks, per stamp. */
export interface Filling {
  readonly withinRadius: number;
  /** As far as the chunks are here. */
  readonly withinSmaller: number;
  readonly capacity: number;
  /** Historical chunks per second. */
  readonly pullRate: number;
}

/**
 * Room for twice the neighbourhood. Not while peers send more, nor while the chunks left out since the last growth would
 * fill it.
 */
export function isTooEmpty({ withinRadius, withinSmaller, capacity, pullRate }: Filling): boolean {
  return (
    withinRadius < capacity * FILLED_MIN && withinSmaller < capacity * WITHIN_SMALLER_MAX && pullRate === 0
  );
}

/** Bins from 0 on that have a peer. Chunks left out by a greater radius would have no node. @param peers full nodes */
export function coveredDepth(
  overlay: Uint8Array,
  peers: readonly { readonly overlay: Uint8Array }[],
): number {
  const bins = new Set(peers.map((peer) => proximityOrder(overlay, peer.overlay)));
  let depth = 0;
  while (depth < MAX_PO && bins.has(depth)) depth++;
  return depth;
}

/** The last bit is flipped. */
export function siblingPrefix(overlay: Uint8Array, depth: number): string {
  const own = addressPrefix(overlay, depth + 1);
  return own.slice(0, depth) + (own.endsWith('0') ? '1' : '0');
}

/**
 * The node's own, unless that says nothing about the network it joined. All in bits. @param radius.network most frequent
 * among the peers, which may claim anything
 */
export function startRadius(radius: {
  readonly local: number;
  readonly minimum: number;
  readonly network: number;
}): number {
  const { local, minimum, network } = radius;
  return local > minimum ? local : Math.max(Math.min(network, MAX_PO), minimum);
}

export interface Neighbourhood {
  /** First address bits, as `0` and `1`. */
  readonly prefix: string;
  readonly size: number;
  readonly proximity: number;
}

/**
 * The node's own, and its sibling where the reserve is doubled. @param reserve.capacityDoubling 0 or 1 @returns by address
 */
export function neighbourhoods(
  overlay: Uint8Array,
  reserve: {
    readonly radius: number;
    readonly capacityDoubling: number;
    sizeFrom(firstBin: number): number;
  },
): Neighbourhood[] {
  const { radius, capacityDoubling } = reserve;
  const bits = addressPrefix(overlay, radius + 1);
  const prefix = bits.slice(0, radius);
  if (capacityDoubling === 0) return [{ prefix, size: reserve.sizeFrom(radius), proximity: radius }];
  const inner = reserve.sizeFrom(radius + 1);
  return ['0', '1'].map((bit) =>
    bit === bits[radius]
      ? { prefix: prefix + bit, size: inner, proximity: radius + 1 }
      : { prefix: prefix + bit, size: reserve.sizeFrom(radius) - inner, proximity: radius },
  );
}
