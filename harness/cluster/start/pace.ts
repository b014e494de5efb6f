/**
 * Whether a machine can start many nodes, judged by the first ones. Nodes that start together share the
 * processors and become ready at about the same time, so the pace is that of a group: a machine that takes
 * four seconds for the first eight takes about forty for eighty.
 */

/** Enough to keep the processors of a usual machine busy, so that more at once would not be faster. */
const PILOTS_MIN = 8;
/** Waves below which the first one is too large a part of the start to predict anything early. */
const WAVES_MIN = 4;
/** The first nodes also load their code from the disk: a start expected to take a little too long is still tried. */
const MARGIN = 2;

export interface Start {
  readonly nodes: number;
  /** Those that start first. */
  readonly pilots: number;
  /** For all nodes to be ready. */
  readonly limitMs: number;
}

/** What follows from the time that the pilots took. */
export interface Pace {
  readonly msPerNode: number;
  /** For all nodes. */
  readonly expectedMs: number;
  /** Nodes that would be ready within the limit, at least one. */
  readonly fits: number;
}

/** Nodes to start at once. */
export function atOnce(nodes: number, processors: number): number {
  return Math.min(nodes, Math.max(PILOTS_MIN, 2 * processors));
}

/** How many nodes the pace is judged by; 0: too few nodes to judge. */
export function pilotCount(nodes: number, processors: number): number {
  const pilots = atOnce(nodes, processors);
  return nodes >= WAVES_MIN * pilots ? pilots : 0;
}

/** @param pilotMs until all pilots were ready @returns undefined: worth a try */
export function tooSlow({ nodes, pilots, limitMs }: Start, pilotMs: number): Pace | undefined {
  const msPerNode = pilotMs / pilots;
  const expectedMs = msPerNode * nodes;
  if (expectedMs <= limitMs * MARGIN) return undefined;
  return { msPerNode, expectedMs, fits: Math.max(1, Math.floor(limitMs / msPerNode)) };
}
