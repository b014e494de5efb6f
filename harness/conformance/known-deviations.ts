import type { RowResult } from './row.ts';

export interface Known {
  readonly versions: readonly string[];
  readonly kind: 'bug' | 'differs from the document' | 'version';
  readonly why: string;
}

interface KnownDeviation extends Known {
  /** Of the rows' names. */
  readonly rows: readonly string[];
}

const KNOWN_DEVIATIONS: readonly KnownDeviation[] = [
  {
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    rows: ['GET /tags query offset -1', 'GET /tags query limit -1'],
    kind: 'bug',
    why: 'ends the connection for a negative number instead of refusing it',
  },
  {
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    rows: ['if-match another', 'if-match weak', 'if-unmodified-since the past'],
    kind: 'bug',
    why: 'answers 412 with the length of a body that it does not send, and ends the connection',
  },
  {
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    rows: ['HEAD /bytes level 1'],
    kind: 'bug',
    why: 'tells the raw span of the root, in which the redundancy level is set, as the length of the content: a negative number',
  },
  {
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    rows: ['HEAD /bytes headers', 'range of HEAD'],
    kind: 'version',
    why: 'HEAD tells type and length alone; change 5551, which gives it the headers of GET, came later',
  },
  {
    versions: ['2.7.1'],
    rows: ['GET /chainstate main'],
    kind: 'version',
    why: 'minimumValidityBlocks came with 2.8',
  },
  {
    versions: ['2.7.1'],
    rows: ['GET /stamps main', 'GET /v1/stamps', 'GET /stamps/{batch_id}'],
    kind: 'version',
    why: 'utilizationRatio came with 2.8',
  },
  {
    versions: ['2.7.1'],
    rows: [
      ...['HEAD', 'PUT', 'OPTIONS', 'GET'].map((method) => `${method} /batches/{batch_id}`),
      'GET /batches unknown',
    ],
    kind: 'version',
    why: 'the operation came with 2.8',
  },
  {
    versions: ['2.7.1'],
    rows: ['HEAD', 'PUT', 'OPTIONS', 'PATCH'].map((method) => `${method} /stamps/{batch_id}`),
    kind: 'version',
    why: 'changing a label came with 2.8',
  },
  {
    versions: ['2.7.1'],
    rows: ['/chunks/stream', '/pss/subscribe/', '/gsoc/subscribe/'].flatMap((path) =>
      ['HEAD', 'PUT', 'OPTIONS'].map((method) => `${method} ${path}`),
    ),
    kind: 'version',
    why: 'takes every method for the opening of a WebSocket; refused by method since 2.8',
  },
  {
    versions: ['2.7.1'],
    rows: ['default level'],
    kind: 'version',
    why: 'content without a redundancy level has level 0; level 1 since 2.8',
  },
  {
    versions: ['2.7.1'],
    rows: ['14 no address'],
    kind: 'bug',
    why: 'reads the overlay of a record that is not there, and the process ends',
  },
  {
    versions: ['2.7.1', '2.8.1', '2.8.2'],
    rows: ['PATCH /stamps/dilute same'],
    kind: 'differs from the document',
    why: 'asks the contract, which refuses the depth that a batch has: 500 instead of 400',
  },
  {
    versions: ['2.7.1', '2.8.1'],
    rows: ['14 failed second handshake', '15 failed second handshake'],
    kind: 'differs from the document',
    why: 'ends all connections of a peer when one handshake of it fails',
  },
];

/** @param version `2.8.1`, or `2.8.1-dev` of a build */
export function isOf({ versions }: Known, version = ''): boolean {
  const [release = '', build] = version.split('-');
  // Our nodes report their dialect's version.
  return build !== 'svcnet' && versions.includes(release);
}

/**
 * @param implementation `version 2.8.1-dev` over HTTP, `bee/2.8.1-dev go1.26 linux/amd64` on the wire
 * @returns `bug: ends the connection`; undefined: unknown
 */
export function knownReason(implementation: string, { id }: Pick<RowResult, 'id'>): string | undefined {
  const [, version] = /^(?:version |bee\/)(\S+)/.exec(implementation) ?? [];
  const known = KNOWN_DEVIATIONS.find(
    (one) => isOf(one, version) && one.rows.some((start) => id.startsWith(start)),
  );
  return known === undefined ? undefined : `${known.kind}: ${known.why}`;
}
