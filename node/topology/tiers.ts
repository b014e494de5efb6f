/**
 * The peer closest to a chunk. Every chunk asks, so peers are kept by bin, once per tier, until one changes.
 * `p2p-protocols.md` 4.8 and 6.7.
 */
import { closerTo, isResponsible, proximityOrder } from '../../formats/chunk/address.ts';
import type { Peer } from '../p2p/host.ts';

export interface Standing {
  isPublic(id: string): boolean;
  isHealthy(id: string): boolean;
}

type ByBin = readonly (readonly Peer[])[];

export class Tiers {
  readonly #own: Uint8Array;
  readonly #usable: () => ByBin;
  readonly #standing: Standing;
  /** Made on demand: at a start peers come faster than chunks. */
  #tiers: readonly ByBin[] | undefined;

  /** @param usable by proximity order to us */
  constructor(own: Uint8Array, usable: () => ByBin, standing: Standing) {
    this.#own = own;
    this.#usable = usable;
    this.#standing = standing;
  }

  changed(): void {
    this.#tiers = undefined;
  }

  /**
   * Closest of the first tier with a peer in the address's neighbourhood, else of the first tier with any: a healthy peer
   * further away would only pass the chunk to the same neighbours. @param radius bits
   * @param closerThan tiers without a closer peer than this overlay are passed over
   */
  closest(
    address: Uint8Array,
    radius: number,
    skip: ReadonlySet<string>,
    closerThan?: Uint8Array,
  ): Peer | undefined {
    this.#tiers ??= tiersOf(this.#usable(), this.#standing);
    const bin = proximityOrder(this.#own, address);
    let further: Peer | undefined;
    for (const tier of this.#tiers) {
      const peer = closestOf(tier, { address, bin, skip });
      if (peer === undefined) continue;
      if (closerThan !== undefined && closerTo(address, peer.overlay, closerThan) >= 0) continue;
      if (isResponsible(peer.overlay, address, radius)) return peer;
      further ??= peer;
    }
    return further;
  }
}

/** Peers of the address's bin share most bits with it, those of deeper bins as many as we do, of shallower ones fewer. */
function closestOf(
  tier: ByBin,
  { address, bin, skip }: { address: Uint8Array; bin: number; skip: ReadonlySet<string> },
): Peer | undefined {
  let closest = closestIn(tier[bin]!, address, skip);
  if (closest !== undefined) return closest;
  for (let deeper = bin + 1; deeper < tier.length; deeper++) {
    closest = closestIn(tier[deeper]!, address, skip, closest);
  }
  for (let shallower = bin - 1; closest === undefined && shallower >= 0; shallower--) {
    closest = closestIn(tier[shallower]!, address, skip);
  }
  return closest;
}

/** @param best so far */
function closestIn(
  peers: readonly Peer[],
  address: Uint8Array,
  skip: ReadonlySet<string>,
  best?: Peer,
): Peer | undefined {
  let closest = best;
  for (const peer of peers) {
    if (closest !== undefined && closerTo(address, peer.overlay, closest.overlay) > 0) continue;
    if (!skip.has(peer.overlayHex)) closest = peer;
  }
  return closest;
}

/** Reachable and healthy, reachable, all. Equal tiers are left out. */
function tiersOf(bins: ByBin, standing: Standing): readonly ByBin[] {
  const reachable = narrowed(bins, ({ overlayHex }) => standing.isPublic(overlayHex));
  const healthy = narrowed(reachable, ({ overlayHex }) => standing.isHealthy(overlayHex));
  return [healthy, reachable, bins].filter(
    (tier, i, all) => i === 0 || countOf(tier) !== countOf(all[i - 1] as ByBin),
  );
}

function narrowed(bins: ByBin, may: (peer: Peer) => boolean): ByBin {
  return bins.map((peers) => peers.filter(may));
}

function countOf(bins: ByBin): number {
  return bins.reduce((sum, peers) => sum + peers.length, 0);
}
