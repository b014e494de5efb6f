/** What implementations may differ in on one seed, as `svcnet diff` finds it: each with its reason. */
import type { Known } from './known-deviations.ts';

/** A difference of two networks that is known, and why it is none to be mended here. */
export interface KnownDifference extends Known {
  /** What differs, as a report calls it. */
  readonly where: RegExp;
  /** Flavours of the two, in any order. `versions` are those of the one that is not ours. */
  readonly between: readonly [string, string];
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [];
