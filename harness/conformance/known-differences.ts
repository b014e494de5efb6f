import type { Known } from './known-deviations.ts';

/** These versions differ from all others; why it is not ours to fix. */
export interface KnownDifference extends Known {
  readonly where: RegExp;
  /** @param theirs of one of these versions, undefined: nothing @param other of another network */
  readonly isThis: (theirs: string | undefined, other: string | undefined) => boolean;
}

const NEW_IN_2_8 = 'minimumValidityBlocks: number, ';

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    where: /^http .* DELETE \/tags\/.* → content-type$/,
    isThis: (theirs, other) => theirs === 'application/json; charset=utf-8' && other === undefined,
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    kind: 'differs from the document',
    why: 'tells the type of a body, in an answer that has none',
  },
  {
    where: /^shape .* GET \/chainstate → body$/,
    isThis: (theirs, other) =>
      other?.includes(NEW_IN_2_8) === true && theirs === other.replace(NEW_IN_2_8, ''),
    versions: ['2.7.1'],
    kind: 'version',
    why: 'minimumValidityBlocks came with 2.8',
  },
  {
    where: /^http .* GET \/stamps\b.* → body\.(?:stamps\[\d+\]\.)?utilizationRatio$/,
    isThis: (theirs) => theirs === undefined,
    versions: ['2.7.1'],
    kind: 'version',
    why: 'utilizationRatio came with 2.8',
  },
  {
    where: /^http .* GET \/stamps\b.* → body\.(?:stamps\[\d+\]\.)?label$/,
    isThis: (theirs, other) => theirs === '"recovered"' && other === '""',
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    kind: 'differs from the document',
    why: 'labels a batch that somebody else bought for it; the testbed, which buys the first ones, tells ours to leave them as they are',
  },
  {
    where: /^http .* GET \/(?:bytes|bzz)\/.* → status$/,
    isThis: (theirs, other) => theirs === '200, then client.short_body' && other === '500',
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    kind: 'bug',
    why: 'begins to serve content whose first chunks nobody has, and ends the connection',
  },
];
