import type { NetworkPicture, PictureNode } from '../picture/picture.ts';

const TURN = 2 * Math.PI;
/** Of an overlay, for its place: more than a screen can tell apart. */
const PREFIX_DIGITS = 8;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Share of the address space before an overlay, 0 to 1. */
export function shareOf(overlay: string): number {
  return Number.parseInt(overlay.slice(0, PREFIX_DIGITS), 16) / 16 ** PREFIX_DIGITS;
}

export function onCircle(share: number, radius: number, centre: Point): Point {
  const angle = share * TURN - TURN / 4;
  return { x: centre.x + radius * Math.cos(angle), y: centre.y + radius * Math.sin(angle) };
}

/** Addresses with the same first bits and responsible nodes. */
export interface Neighbourhood {
  /** `0` and `1`; empty: all. */
  readonly prefix: string;
  /** Shares of the address space. */
  readonly from: number;
  readonly to: number;
  readonly nodes: readonly string[];
}

export function neighbourhoods(
  nodes: readonly Pick<PictureNode, 'name' | 'overlay' | 'mode' | 'storageRadius'>[],
): Neighbourhood[] {
  const byPrefix = new Map<string, string[]>();
  for (const { name, overlay, mode, storageRadius } of nodes) {
    if (mode !== 'full' || storageRadius === null) continue;
    const prefix = bitsOf(overlay).slice(0, storageRadius);
    byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), name]);
  }
  return [...byPrefix]
    .map(([prefix, names]) => {
      const size = 1 / 2 ** prefix.length;
      const from = prefix === '' ? 0 : Number.parseInt(prefix, 2) * size;
      return { prefix, from, to: from + size, nodes: names };
    })
    .toSorted((a, b) => a.from - b.from || a.to - b.to);
}

function bitsOf(overlay: string): string {
  return Number.parseInt(overlay.slice(0, PREFIX_DIGITS), 16)
    .toString(2)
    .padStart(PREFIX_DIGITS * 4, '0');
}

export function spreadLabels(shares: readonly number[], gap: number): number[] {
  const order = shares.map((share, i) => ({ share, i })).toSorted((a, b) => a.share - b.share);
  const room = Math.min(gap, 1 / Math.max(1, order.length));
  const placed = order.map(({ share }) => share);
  // Each round moves close neighbours by half the missing gap.
  for (let round = 0; round < 100; round++) {
    let moved = false;
    for (let k = 0; k < placed.length && placed.length > 1; k++) {
      const next = (k + 1) % placed.length;
      const wrap = next === 0 ? 1 : 0;
      const missing = room - ((placed[next] as number) + wrap - (placed[k] as number));
      if (missing <= 1e-6) continue;
      placed[k] = (placed[k] as number) - missing / 2;
      placed[next] = (placed[next] as number) + missing / 2;
      moved = true;
    }
    if (!moved) break;
  }
  const spread: number[] = [];
  for (const [k, { i }] of order.entries()) spread[i] = placed[k] as number;
  return spread;
}

export function networkSummary({ nodes, links, cluster }: NetworkPicture): string {
  const running = nodes.filter(({ answers }) => answers);
  const connected = links.filter((link) => link.connected).length;
  const areas = neighbourhoods(nodes);
  const gone = nodes
    .filter(({ answers }) => !answers)
    .map(({ name, state }) => `${name} (${stateText(state)})`);
  const missing = gone.length === 0 ? '' : ` Not answering: ${gone.join(', ')}.`;
  const radius = areas.length === 1 ? '1 neighbourhood' : `${areas.length} neighbourhoods`;
  return `${cluster}: ${running.length} of ${nodes.length} nodes answer, ${connected} links, ${radius}.${missing}`;
}

export function stateText(state: string): string {
  return state === 'running' ? 'runs, does not answer' : state;
}
