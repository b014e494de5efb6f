/** What implementations may differ in on one seed, as `svcnet diff` finds it: each with its reason. */
import type { Known } from './known-deviations.ts';

/** A difference of two networks that is known, and why it is none to be mended here. */
export interface KnownDifference extends Known {
  /** What differs, as a report calls it. */
  readonly where: RegExp;
  /** Flavours of the two, in any order. `versions` are those of the one that is not ours. */
  readonly between: readonly [string, string];
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    where: /^http .* GET \/tags\/.* → body\.sent$/,
    between: ['svc', 'bee'],
    versions: ['2.7.1', '2.8.1'],
    kind: 'differs from the document',
    why: 'counts a chunk once for every peer that it was sent to',
  },
];
