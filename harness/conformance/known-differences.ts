/** Allowed differences for one seed in `svcnet diff`, with reasons. */
import type { Known } from './known-deviations.ts';

/** A known difference, and why it is not ours to fix. */
export interface KnownDifference extends Known {
  /** What differs, as a report calls it. */
  readonly where: RegExp;
  /** What both show, in the order of `between`, such as `500 / 200`; default: anything. */
  readonly seen?: RegExp;
  /** The two flavours in any order; `versions` are the other implementation's. */
  readonly between: readonly [string, string];
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    where: /^http .* GET \/tags\b.* → body\.(?:tags\[\d+\]\.)?sent$/,
    between: ['svc', 'bee'],
    versions: ['2.7.1', '2.8.1'],
    kind: 'differs from the document',
    why: 'counts a chunk once for every peer that it was sent to',
  },
  {
    where: /^http .* DELETE \/tags\/.* → (?:content-type|body)$/,
    between: ['svc', 'bee'],
    versions: ['2.7.1', '2.8.1'],
    kind: 'differs from the document',
    why: 'tells the type of a body, in an answer that has none',
  },
  {
    where: /^shape .* GET \/chainstate → body$/,
    between: ['svc', 'bee'],
    versions: ['2.7.1'],
    kind: 'version',
    why: 'minimumValidityBlocks came with 2.8',
  },
  {
    where: /^http .* GET \/stamps\b.* → body\.(?:stamps\[\d+\]\.)?utilizationRatio$/,
    between: ['svc', 'bee'],
    versions: ['2.7.1'],
    kind: 'version',
    why: 'utilizationRatio came with 2.8',
  },
  {
    where: /^http .* GET \/stamps\b.* → body\.(?:stamps\[\d+\]\.)?label$/,
    seen: /^"" \/ "recovered"$/,
    between: ['svc', 'bee'],
    versions: ['2.7.1', '2.8.1'],
    kind: 'differs from the document',
    why: 'labels a batch that somebody else bought for it; the testbed, which buys the first ones, tells ours to leave them as they are',
  },
  {
    where: /^http .* GET \/(?:bytes|bzz)\/.* → status$/,
    seen: /^500 \/ 200, then client\.short_body$/,
    between: ['svc', 'bee'],
    versions: ['2.7.1', '2.8.1'],
    kind: 'bug',
    why: 'begins to serve content whose first chunks nobody has, and ends the connection',
  },
];
