/**
 * Which chunks the nodes of a network are responsible for: a node covers the addresses that begin like its own
 * overlay.
 */
import { addressPrefix } from '../../../formats/chunk/address.ts';
import type { Storer } from './placement.ts';

/**
 * Largest address ranges outside every storer's radius.
 * @returns first bits, as `0` and `1`, in order; none without storers
 */
export function uncovered(storers: readonly Storer[]): string[] {
  if (storers.length === 0) return [];
  const covered = new Set(storers.map(({ overlay, radius }) => addressPrefix(overlay, radius)));
  return gaps('', covered);
}

/** Descends only into partly covered ranges: at most as many steps as the radii of all storers together. */
function gaps(prefix: string, covered: ReadonlySet<string>): string[] {
  if (covered.has(prefix)) return [];
  const within = [...covered].filter((other) => other.startsWith(prefix));
  if (within.length === 0) return [prefix];
  const inside = new Set(within);
  return [...gaps(`${prefix}0`, inside), ...gaps(`${prefix}1`, inside)];
}
