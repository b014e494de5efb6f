/** Pure decisions of the reserve worker. `node-behaviour.md` 1.5, 2.5. */

import { addressPrefix, MAX_PO, proximityOrder } from '../../formats/chunk/address.ts';

/** Of the capacity; below it the radius is too large. */
const FILLED_MIN = 0.5;
/** Of the capacity, so that the smaller radius does not grow again. */
const WITHIN_SMALLER_MAX = 0.8;

/** What decides whether the radius shrinks. Chunks, per stamp. */
export interface Filling {
  readonly withinRadius: number;
  /** Within the next smaller radius, as far as here. */
  readonly withinSmaller: number;
  readonly capacity: number;
  /** Historical chunks per second that peers send. */
  readonly pullRate: number;
}

/** Room for twice the neighbourhood? Not while more may come from peers, or what was left out would refill it. */
export function isTooEmpty({ withinRadius, withinSmaller, capacity, pullRate }: Filling): boolean {
  return (
    withinRadius < capacity * FILLED_MIN && withinSmaller < capacity * WITHIN_SMALLER_MAX && pullRate === 0
  );
}

/**
 * Depth to which siblings have nodes: bins from 0 on with a peer. Beyond, left-out chunks would have no node.
 * @param peers full nodes
 */
export function coveredDepth(
  overlay: Uint8Array,
  peers: readonly { readonly overlay: Uint8Array }[],
): number {
  const bins = new Set(peers.map((peer) => proximityOrder(overlay, peer.overlay)));
  let depth = 0;
  while (depth < MAX_PO && bins.has(depth)) depth++;
  return depth;
}

/** Our prefix with its last bit flipped. */
export function siblingPrefix(overlay: Uint8Array, depth: number): string {
  const own = addressPrefix(overlay, depth + 1);
  return own.slice(0, depth) + (own.endsWith('0') ? '1' : '0');
}

/**
 * A node's own radius, unless meaningless for its network. Bits.
 * @param radius.network most frequent among peers, which may claim anything
 */
export function startRadius(radius: {
  readonly local: number;
  readonly minimum: number;
  readonly network: number;
}): number {
  const { local, minimum, network } = radius;
  return local > minimum ? local : Math.max(Math.min(network, MAX_PO), minimum);
}

/** One of the neighbourhoods that a reserve keeps. */
export interface Neighbourhood {
  /** First bits of its addresses, as `0` and `1`. */
  readonly prefix: string;
  /** Chunks in the reserve, per stamp. */
  readonly size: number;
  /** Bits that it shares with this node. */
  readonly proximity: number;
}

/**
 * Our neighbourhood, with its sibling if doubled.
 * @param reserve.capacityDoubling 0 or 1 @returns in order of addresses
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
