/** Pure decisions of the reserve worker. `node-behaviour.md` 1.5, 2.5. */

import { MAX_PO } from '../chunk/address.ts';

/** Part of the capacity below which a reserve is too empty for its radius. */
const FILLED_MIN = 0.5;

/** Is there room for the chunks of twice the neighbourhood? Not while more may still come from the peers there are. */
export function isTooEmpty(reserve: {
  readonly withinRadius: number;
  readonly capacity: number;
  /** Historical chunks per second that peers send. */
  readonly pullRate: number;
}): boolean {
  return reserve.withinRadius < reserve.capacity * FILLED_MIN && reserve.pullRate === 0;
}

/**
 * Radius with which a node begins: its own, unless that says nothing about the network it has come to. All in bits.
 * @param radius.network most frequent one of the peers, who may say anything
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
 * The node's own neighbourhood, and where the reserve is made twice as large also the one beside it.
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
  const bits = Array.from(overlay, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const prefix = bits.slice(0, radius);
  if (capacityDoubling === 0) return [{ prefix, size: reserve.sizeFrom(radius), proximity: radius }];
  const inner = reserve.sizeFrom(radius + 1);
  return ['0', '1'].map((bit) =>
    bit === bits[radius]
      ? { prefix: prefix + bit, size: inner, proximity: radius + 1 }
      : { prefix: prefix + bit, size: reserve.sizeFrom(radius) - inner, proximity: radius },
  );
}
