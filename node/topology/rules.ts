/** Decisions of the Kademlia table. Pure. `p2p-protocols.md` 6. */
import { proximityOrder } from '../../formats/chunk/address.ts';

/** At this many reachable peers a bin accepts no more inbound ones; a bootnode drops another. */
export const OVER_SATURATION = 18;
export const BOOTNODE_OVER_SATURATION = 20;
/**
 * With fewer peers, a bin's known ones are all dialled, and all announced to new ones: small networks would else stay
 * unconnected in parts. Neighbourhood bins too are full here: at radius 0 each node would connect to all.
 */
export const SATURATION = 8;
/** At radius 0 with more than a few known nodes: all are neighbours, and more links cost without use. */
const SATURATION_AT_RADIUS_0 = 4;
/** Up to this size all connect, with a margin for nodes that are gone. */
const FEW_KNOWN = 12;
/** Peers of a full bin that hear of a new one. */
export const BROADCAST_BIN_SIZE = 2;
/** Bits that divide a bin into slots, to spread its peers. */
const SLOT_BITS = 4;
export const SLOTS = 2 ** SLOT_BITS;

/** For one peer: addresses, handshake and hooks. */
export const DIAL_TIMEOUT_MS = 45_000;
/** Longest time between two dial rounds. */
export const ROUND_MS = 15_000;
/** Pause after a failed dial or a disconnect. */
export const RETRY_MS = 20_000;
/**
 * A node known from the start may be starting or restarted. For this long its failed dials are not counted, and
 * repeated after a pause that grows with the known nodes: it bounds a cluster's wait for last links, and vain dials.
 * The other node dials too, unless it has enough peers.
 */
const EAGER_MS = 60_000;
const EAGER_PAUSE_MIN_MS = 1_000;
const EAGER_PAUSE_PER_NODE_MS = 80;

/** Pause after a successful dial. */
export const REDIAL_MS = 10_000;
const ATTEMPTS_MAX = 4;
const NEIGHBOUR_ATTEMPTS_MAX = 6;

/** If no bootnode answered; doubles to the longest: a local cluster's first node is up soon. */
const BOOTNODE_PAUSE_MIN_MS = 50;
const BOOTNODE_PAUSE_MAX_MS = 20_000;

/**
 * After a failed dial of a node known from the start.
 * @param waitedMs time already waited for it @param known nodes @returns undefined: like any other node from now on
 */
export function eagerPauseMs(waitedMs: number, known: number): number | undefined {
  if (waitedMs >= EAGER_MS) return undefined;
  return Math.min(RETRY_MS, Math.max(EAGER_PAUSE_MIN_MS, known * EAGER_PAUSE_PER_NODE_MS));
}

/** Connected peers at which a bin's dialling stops. @param known nodes, connected or not */
export function saturation({ radius, known }: { radius: number; known: number }): number {
  return radius === 0 && known > FEW_KNOWN ? SATURATION_AT_RADIUS_0 : SATURATION;
}

/**
 * A peer's slot: the four bits after the first that differs from `own`.
 * @param bin proximity order of both @returns 0..15; undefined: the last bin's whole prefix is shared
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

/** Whether the peer is given up after this many failed dials. */
export function isGivenUp(
  attempts: number,
  peer: { own: Uint8Array; overlay: Uint8Array; radius: number },
): boolean {
  const neighbour = proximityOrder(peer.own, peer.overlay) >= peer.radius;
  return attempts >= (neighbour ? NEIGHBOUR_ATTEMPTS_MAX : ATTEMPTS_MAX);
}

/** @param failedPasses passes in a row without a lasting peer, from 1 */
export function bootnodePauseMs(failedPasses: number): number {
  // Beyond 2^20 the longest pause has long been reached.
  return Math.min(BOOTNODE_PAUSE_MIN_MS * 2 ** Math.min(failedPasses - 1, 20), BOOTNODE_PAUSE_MAX_MS);
}

/** Empty slots of a bin, and the known peers for them, one each, oldest first. */
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

const PROBE_UNIT_MS = 300_000;
/** A first failure is doubted: busy machines time out, and an unreachable peer is not announced. */
const PROBE_DOUBT_MS = 15_000;
/** Powers of two by which pauses grow, after good and bad results. */
const PROBE_GROWTH_MAX = { reachable: 2, unreachable: 4 } as const;
/** Fraction by which pauses vary, so that peers that came together are not probed together for ever. */
const PROBE_JITTER = 0.2;

/**
 * Pause after a probe, minutes: 10, then 20 if the peer was reached; if not, a quarter of one, then 10, 20,
 * 40, 80. Each is up to a fifth shorter or longer.
 * @param row equal results in a row, from 1 @param chance 0 inclusive to 1
 */
export function probePauseMs(row: { reachable: boolean; count: number }, chance: number): number {
  return Math.round(plainPauseMs(row) * (1 + PROBE_JITTER * (2 * chance - 1)));
}

function plainPauseMs({ reachable, count }: { reachable: boolean; count: number }): number {
  if (reachable) return PROBE_UNIT_MS * 2 ** Math.min(count, PROBE_GROWTH_MAX.reachable);
  if (count === 1) return PROBE_DOUBT_MS;
  return PROBE_UNIT_MS * 2 ** Math.min(count - 1, PROBE_GROWTH_MAX.unreachable);
}

/**
 * Which of a slot's peers to drop: the first unhealthy, else the last unreachable, else any.
 * @param peers at least one, in order of arrival @param below a random number under a bound
 */
export function prunedOf<T extends { readonly overlayHex: string }>(
  peers: readonly T[],
  standing: { isPublic(id: string): boolean; isHealthy(id: string): boolean },
  below: (bound: number) => number,
): T {
  const unhealthy = peers.find(({ overlayHex }) => !standing.isHealthy(overlayHex));
  const unreachable = peers.findLast(({ overlayHex }) => !standing.isPublic(overlayHex));
  return unhealthy ?? unreachable ?? (peers[below(peers.length)] as T);
}
