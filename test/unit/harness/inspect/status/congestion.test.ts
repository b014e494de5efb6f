import { describe, expect, test } from 'vitest';
import type { Backlog } from '../../../../../harness/client/types.ts';
import { congested } from '../../../../../harness/inspect/status/congestion.ts';

interface Given {
  readonly radius?: number;
  readonly full?: boolean;
  readonly missing?: string;
  readonly leftovers?: Backlog['reserve']['leftovers'];
  readonly uploads?: Readonly<Record<string, number>>;
  readonly reason?: string;
}

/** @param first byte of the overlay, hex */
function reportOf(name: string, first: string, given: Given = {}) {
  const {
    radius = 2,
    full = false,
    missing,
    leftovers = [],
    uploads = {},
    reason = 'could not push',
  } = given;
  const size = full ? 9000 : 10;
  const backlog: Backlog = {
    reserve: {
      capacity: 9000,
      size,
      sizeWithinRadius: size,
      storageRadius: radius,
      full,
      leftovers,
      ...(missing === undefined ? {} : { missing }),
    },
    uploads: Object.entries(uploads).map(([neighborhood, chunks]) => ({
      neighborhood,
      chunks,
      reason,
      since: 0,
    })),
  };
  return { node: { name, overlay: first.padEnd(64, '0') }, backlog };
}

const congestionIn = (...all: ReturnType<typeof reportOf>[]) =>
  congested(
    all,
    all.map(({ node }) => node),
  );

describe('congested neighbourhoods of a cluster', () => {
  test('there are none in a cluster with room everywhere', () => {
    expect(congestionIn(reportOf('a', '00'), reportOf('b', 'ff'))).toEqual([]);
  });

  test('waiting uploads of all nodes are added up, and the full node is named with a remedy', () => {
    const congestion = congestionIn(
      reportOf('a', '00', { uploads: { '01': 5 } }),
      reportOf('b', '40', { full: true, missing: '011', uploads: { '01': 80 } }),
      reportOf('c', 'c0'),
    );
    expect(congestion).toEqual([
      {
        neighbourhood: '01',
        waiting: 85,
        leftover: 0,
        full: ['b'],
        text: 'neighbourhood 01: 85 chunks of a and b wait, b is full (9,000 of 9,000 chunks); add a node whose overlay starts with 011, or raise reserve-capacity',
      },
    ]);
  });

  test('a full node counts for the smaller neighbourhoods within its own', () => {
    const [smaller] = congestionIn(
      reportOf('a', '00', { uploads: { '010': 1 } }),
      reportOf('b', '40', { full: true, radius: 2 }),
    );
    expect(smaller).toMatchObject({ neighbourhood: '01', full: ['b'], waiting: 0 });
  });

  test('a neighbourhood without a node asks for one', () => {
    const [empty] = congestionIn(reportOf('a', '00', { uploads: { '11': 1 } }));
    expect(empty?.text).toBe(
      'neighbourhood 11: 1 chunk of a waits, no node is in it; add a node whose overlay starts with 11',
    );
  });

  test('without a full node the reason of the last failed push is given', () => {
    const reason = 'could not push chunk: no result within 30000 ms';
    const [slow] = congestionIn(reportOf('a', '00', { uploads: { '1': 3 }, reason }), reportOf('b', 'c0'));
    expect(slow?.text).toBe(`neighbourhood 1: 3 chunks of a wait, ${reason}; see the logs of its nodes`);
  });

  test('chunks that cannot be handed over count for the neighbourhood that does not take them', () => {
    const [beside] = congestionIn(
      reportOf('a', '00', { leftovers: [{ neighborhood: '1', chunks: 7 }] }),
      reportOf('b', '80', { radius: 1, full: true }),
    );
    expect(beside).toMatchObject({ neighbourhood: '1', leftover: 7, full: ['b'] });
    expect(beside?.text).toContain('7 chunks cannot be handed over, b is full');
  });

  test('a network of one neighbourhood is described as all addresses', () => {
    const [all] = congestionIn(reportOf('a', '00', { radius: 0, full: true, missing: '1' }));
    expect(all?.text).toBe(
      'neighbourhood (all addresses): a is full (9,000 of 9,000 chunks); add a node whose overlay starts with 1, or raise reserve-capacity',
    );
  });
});
