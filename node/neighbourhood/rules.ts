/** Pure decisions of the reserve worker. `node-behaviour.md` 1.5, 2.5. */

import { addressPrefix, MAX_PO, proximityOrder } from '../../formats/chunk/address.ts';

/** Fraction of the capacity below which a reserve is too empty for its radius. */
const FILLED_MIN = 0.5;
/**
 * Fraction of the capacity that the chunks within the smaller radius may take, so that it does not grow again at
 * once.
 */
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

/**
 * Whether there is room for the chunks of twice the neighbourhood. Not while more may still come from current peers,
 * nor while the chunks left out since the radius grew would fill it again.
 */
export function isTooEmpty({ withinRadius, withinSmaller, capacity, pullRate }: Filling): boolean {
  return (
    withinRadius < capacity * FILLED_MIN && withinSmaller < capacity * WITHIN_SMALLER_MAX && pullRate === 0
  );
}

/**
 * Depth up to which every sibling neighbourhood has a node: the bins from 0 on that have a peer. Chunks left out by a
 * radius beyond it would have no node.
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

/** Prefix of the sibling of our neighbourhood at a depth: its last bit is flipped. */
export function siblingPrefix(overlay: Uint8Array, depth: number): string {
  const own = addressPrefix(overlay, depth + 1);
  return own.slice(0, depth) + (own.endsWith('0') ? '1' : '0');
}

/**
 * Radius with which a node starts: its own, unless that says nothing about the network it has joined. All in bits.
 * @param radius.network most frequent one among the peers, which may claim anything
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
 * The node's own neighbourhood, and, where the reserve is doubled, also its sibling.
 * @param reserve.capacityDoubling 0 or 1 @returns in the order of their addresses
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
