/** Decisions of the Kademlia table. Pure. `p2p-protocols.md` 6. */
import { proximityOrder } from '../../formats/chunk/address.ts';

/** At this many reachable peers a bin accepts no further inbound one; a bootnode makes room by dropping another. */
export const OVER_SATURATION = 18;
export const BOOTNODE_OVER_SATURATION = 20;
/**
 * A bin with fewer connected peers is not full: all its known peers are dialled, and all its peers are announced to a
 * new one. Otherwise, by chance, parts of a small network would stay unconnected. A neighbourhood bin is full at the
 * same number: at radius 0, where all nodes are neighbours, each would otherwise connect to all others.
 */
export const SATURATION = 8;
/**
 * The same while the storage radius is 0 and more than a few nodes are known. All of them are then neighbours, and
 * closest to nothing in particular: further links would bring only cost, and making them is most of a node's cost at
 * the start. A radius above 0 fills the bins.
 */
const SATURATION_AT_RADIUS_0 = 4;
/** Networks up to this size are fully connected, with a margin for nodes that are known but gone. */
const FEW_KNOWN = 12;
/** Peers of a full bin that hear of a new one. */
export const BROADCAST_BIN_SIZE = 2;
/** Each bin is divided by this many bits into slots, so that its peers spread over it. */
const SLOT_BITS = 4;
export const SLOTS = 2 ** SLOT_BITS;

/** Time limit for one peer: all its addresses, the handshake and the connect hooks. */
export const DIAL_TIMEOUT_MS = 45_000;
/** Longest time between two dial rounds. */
export const ROUND_MS = 15_000;
/** Pause after a failed dial or a disconnect. */
export const RETRY_MS = 20_000;
/**
 * A node that is known from the start may still be starting itself, or have been restarted. For this long, failed
 * dials of it are not counted, and repeated after a pause that grows with the number of known nodes: the pause bounds
 * how long a starting cluster may wait for its last links, and how many vain dials each node makes per second. The
 * other node, too, dials as soon as it has started, unless it has enough peers.
 */
const EAGER_MS = 60_000;
const EAGER_PAUSE_MIN_MS = 1_000;
const EAGER_PAUSE_PER_NODE_MS = 80;

/** Pause after a successful dial. */
export const REDIAL_MS = 10_000;
const ATTEMPTS_MAX = 4;
const NEIGHBOUR_ATTEMPTS_MAX = 6;

/**
 * First pause when no bootnode answered; it doubles up to the longest, so that nodes that start together find each
 * other at once: a local cluster's first node is up in a moment.
 */
const BOOTNODE_PAUSE_MIN_MS = 50;
const BOOTNODE_PAUSE_MAX_MS = 20_000;

/**
 * Pause after a failed dial of a node known from the start.
 * @param waitedMs time already waited for it @param known nodes @returns undefined: from now on it is like any other
 * node
 */
export function eagerPauseMs(waitedMs: number, known: number): number | undefined {
  if (waitedMs >= EAGER_MS) return undefined;
  return Math.min(RETRY_MS, Math.max(EAGER_PAUSE_MIN_MS, known * EAGER_PAUSE_PER_NODE_MS));
}

/** Connected peers at which a node stops dialling peers of a bin. @param known nodes, connected or not */
export function saturation({ radius, known }: { radius: number; known: number }): number {
  return radius === 0 && known > FEW_KNOWN ? SATURATION_AT_RADIUS_0 : SATURATION;
}

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

/** Whether the peer is given up after this many failed dials. */
export function isGivenUp(
  attempts: number,
  peer: { own: Uint8Array; overlay: Uint8Array; radius: number },
): boolean {
  const neighbour = proximityOrder(peer.own, peer.overlay) >= peer.radius;
  return attempts >= (neighbour ? NEIGHBOUR_ATTEMPTS_MAX : ATTEMPTS_MAX);
}

/** @param failedPasses passes over the bootnodes in a row that led to no peer, or to none that stayed, from 1 */
export function bootnodePauseMs(failedPasses: number): number {
  // Beyond 2^20 the longest pause has long been reached.
  return Math.min(BOOTNODE_PAUSE_MIN_MS * 2 ** Math.min(failedPasses - 1, 20), BOOTNODE_PAUSE_MAX_MS);
}

/**
 * The slots of a bin without a connected peer, and the known peers that could fill them, one per slot, oldest first.
 * @param max of them: no further candidate is looked at
 */
export function balancedCandidates<T extends { readonly overlay: Uint8Array }>(
  bin: { own: Uint8Array; index: number; connected: Iterable<{ readonly overlay: Uint8Array }> },
  candidates: Iterable<T>,
  max = SLOTS,
): T[] {
  const filled = new Set<number | undefined>([undefined]);
  for (const { overlay } of bin.connected) filled.add(slotOf(bin.own, overlay, bin.index));
  const chosen: T[] = [];
  for (const candidate of candidates) {
    if (chosen.length === max || filled.size > SLOTS) break;
    const slot = slotOf(bin.own, candidate.overlay, bin.index);
    if (filled.has(slot)) continue;
    filled.add(slot);
    chosen.push(candidate);
  }
  return chosen;
}

const PROBE_UNIT_MS = 300_000;
/**
 * Pause after a first failure, milliseconds. It is doubted: on a busy machine probes time out, and an unreachable
 * peer is not announced.
 */
const PROBE_DOUBT_MS = 15_000;
/** Powers of two by which the pause grows at most, after consecutive good and bad results. */
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
 * The peer to drop of those that share a slot: the first unhealthy one, else the last unreachable one, else any.
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
