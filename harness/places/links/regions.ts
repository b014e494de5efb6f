/** How far nodes are from each other, by the regions of the world that they are in. */
import type { LinkConditions } from './conditions.ts';
import { uniform } from './line.ts';
import type { LastingLinks } from './rules.ts';

export interface Regions {
  readonly shares: Readonly<Record<string, number>>;
  /** Times between two regions or within one: each pair once. */
  readonly roundTripMs: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface NetworkShape {
  /** Round trip between any two nodes. */
  readonly latencyMs?: number | undefined;
  readonly jitterMs?: number | undefined;
  readonly regions?: Regions | undefined;
  /** What a node sends at most, on all links. Default: no limit. */
  readonly bytesPerSecond?: number | undefined;
}

/** It follows from the seed and the name alone. */
export function regionOf({ shares }: Regions, seed: string, node: string): string {
  const entries = Object.entries(shares);
  const sum = entries.reduce((all, [, share]) => all + share, 0);
  let left = uniform(`${seed} region ${node}`)() * sum;
  const found = entries.find(([, share]) => (left -= share) < 0) ?? entries.at(-1);
  return found?.[0] ?? '';
}

export function roundTripMs({ roundTripMs: given }: Regions, one: string, other: string): number | undefined {
  return given[one]?.[other] ?? given[other]?.[one];
}

export function regionMistakes(regions: Regions): string[] {
  const names = Object.keys(regions.shares);
  const known = names.join(', ');
  const given = Object.entries(regions.roundTripMs).flatMap(([one, row]) =>
    Object.entries(row).map(([other, ms]) => ({ one, other, ms })),
  );
  const unknown = given
    .filter(({ one, other }) => !names.includes(one) || !names.includes(other))
    .map(
      ({ one, other, ms }) => `.roundTripMs.${one}.${other}: got ${ms}, expected regions of shares: ${known}`,
    );
  const unequal = given
    .filter(({ one, other, ms }) => one < other && (regions.roundTripMs[other]?.[one] ?? ms) !== ms)
    .map(
      ({ one, other, ms }) =>
        `.roundTripMs.${one}.${other}: got ${ms}, expected the value of ${other}.${one}`,
    );
  const missing = names.flatMap((one, index) =>
    names
      .slice(index)
      .filter((other) => roundTripMs(regions, one, other) === undefined)
      .map((other) => `.roundTripMs.${one}.${other}: got nothing, expected a round trip in milliseconds`),
  );
  return [...unknown, ...unequal, ...missing];
}

/** @param seed determines where nodes are, and all jitter */
export function linksOf(
  { latencyMs, jitterMs, regions, bytesPerSecond }: NetworkShape,
  seed: string,
): LastingLinks {
  const regionBy = new Map<string, string>();
  const placed = (node: string, within: Regions) => {
    const region = regionBy.get(node) ?? regionOf(within, seed, node);
    regionBy.set(node, region);
    return region;
  };
  return {
    seed,
    bytesPerSecond,
    between(one, other): LinkConditions | undefined {
      if (one === undefined || other === undefined) return undefined;
      if (regions === undefined) return { latencyMs, jitterMs };
      return { latencyMs: roundTripMs(regions, placed(one, regions), placed(other, regions)), jitterMs };
    },
  };
}
