/** `p2p-protocols.md` 6. */
import { proximityOrder } from '../../formats/chunk/address.ts';

/** Reachable peers at which a bin accepts no inbound one; a bootnode drops another instead. */
export const OVER_SATURATION = 18;
export const BOOTNODE_OVER_SATURATION = 20;
/**
 * Below it a bin's known peers are all dialled, and its peers all announced: otherwise parts of a small network might stay
 * unconnected. Also for a neighbourhood bin: at radius 0 each node would connect to all.
 */
export const SATURATION = 8;
/**
 * At storage radius 0, with more than a few nodes known: all are neighbours, and further links bring only cost, most of it
 * at the start.
 */
const SATURATION_AT_RADIUS_0 = 4;
/** So small a network is fully connected; some nodes may be gone. */
const FEW_KNOWN = 12;
/** That hear of a new peer. */
export const BROADCAST_BIN_SIZE = 2;
/** By these bits a bin is divided into slots, to spread its peers. */
const SLOT_BITS = 4;
export const SLOTS = 2 ** SLOT_BITS;

/** Limit of a dial: all addresses, the handshake and the connect hooks. */
export const DIAL_TIMEOUT_MS = 45_000;
/** Longest time between two dial rounds. */
export const ROUND_MS = 15_000;
/** Pause after a failed dial or a disconnect. */
export const RETRY_MS = 20_000;
/**
 * How long failed dials of a node known from the start do not count, because it may be starting. The pause grows with the
 * number of known nodes: it bounds how late a starting cluster gets its last links, and how many vain dials each node makes.
 */
const EAGER_MS = 60_000;
const EAGER_PAUSE_MIN_MS = 1_000;
const EAGER_PAUSE_PER_NODE_MS = 80;

export const REDIAL_MS = 10_000;
const ATTEMPTS_MAX = 4;
const NEIGHBOUR_ATTEMPTS_MAX = 6;

/** Doubles. Nodes that start together find each other at once. */
const BOOTNODE_PAUSE_MIN_MS = 50;
const BOOTNODE_PAUSE_MAX_MS = 20_000;

/** @param waitedMs already waited @param known nodes @returns undefined: like any other node from now on */
export function eagerPauseMs(waitedMs: number, known: number): number | undefined {
  if (waitedMs >= EAGER_MS) return undefined;
  return Math.min(RETRY_MS, Math.max(EAGER_PAUSE_MIN_MS, known * EAGER_PAUSE_PER_NODE_MS));
}

/** Connected peers that are enough for a bin. @param known connected or not */
export function saturation({ radius, known }: { radius: number; known: number }): number {
  return radius === 0 && known > FEW_KNOWN ? SATURATION_AT_RADIUS_0 : SATURATION;
}

/**
 * The four bits after the first in which it differs from `own`. @param bin proximity order of both
 * @returns 0..15; undefined when they share the last bin's whole prefix
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

export function isGivenUp(
  attempts: number,
  peer: { own: Uint8Array; overlay: Uint8Array; radius: number },
): boolean {
  const neighbour = proximityOrder(peer.own, peer.overlay) >= peer.radius;
  return attempts >= (neighbour ? NEIGHBOUR_ATTEMPTS_MAX : ATTEMPTS_MAX);
}

/** Passes over the bootnodes in a row without a lasting peer. */
export interface BootnodeRow {
  /** From 1. */
  readonly passes: number;
  /** In which a bootnode answered, and then refused or ended the connection. */
  readonly answered: number;
  /** Whether none answered in the last pass. */
  readonly silent: boolean;
  readonly waitedMs: number;
}

/** Bootnodes that do not answer may be starting, or their names: for a minute the pause stays short. */
export function bootnodePauseMs({ passes, answered, silent, waitedMs }: BootnodeRow): number {
  if (!silent) return doubledPauseMs(answered);
  return waitedMs < EAGER_MS ? Math.min(doubledPauseMs(passes), EAGER_PAUSE_MIN_MS) : doubledPauseMs(passes);
}

/** @param times from 1 */
function doubledPauseMs(times: number): number {
  // The longest pause is reached.
  return Math.min(BOOTNODE_PAUSE_MIN_MS * 2 ** Math.min(times - 1, 20), BOOTNODE_PAUSE_MAX_MS);
}

/**
 * Slots without a connected peer, and known peers to fill them, one each, oldest first. @param max further candidates are
 * not looked at
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
/** After a first failure, which is doubted: on a busy machine probes time out. */
const PROBE_DOUBT_MS = 15_000;
/** Powers of two, for good and bad results in a row. */
const PROBE_GROWTH_MAX = { reachable: 2, unreachable: 4 } as const;
/** Peers that came together are not probed together for ever. */
const PROBE_JITTER = 0.2;

/**
 * Minutes: 10, then 20 if reached; if not, a quarter of one, then 10, 20, 40, 80; each up to a fifth shorter or longer.
 * @param row equal results, from 1 @param chance 0 inclusive to 1
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
 * Of those that share a slot: the first unhealthy, else the last unreachable, else any. @param peers in order of arrival
 * @param below a random number under a bound
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
