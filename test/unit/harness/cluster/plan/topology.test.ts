import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Link, linksOf, topologyMistakes } from '../../../../../harness/cluster/plan/topology.ts';
import type { NodeMode } from '../../../../../harness/flavours/flavour.ts';

function peersOf(links: readonly Link[], nodes: number): number[][] {
  return Array.from({ length: nodes }, (_, index) =>
    links.flatMap(([one, other]) => (one === index ? [other] : other === index ? [one] : [])),
  );
}

function reached(links: readonly Link[]): Set<number> {
  const seen = new Set([0]);
  for (const from of seen) {
    for (const [one, other] of links) {
      if (one === from) seen.add(other);
      if (other === from) seen.add(one);
    }
  }
  return seen;
}

const full = (count: number): NodeMode[] => Array.from({ length: count }, () => 'full');

test('a mesh has no explicit links; a ring, a star and named links have the expected ones', () => {
  expect(linksOf('mesh', 4, 1n)).toBeUndefined();
  expect(linksOf('ring', 4, 1n)).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
    [0, 3],
  ]);
  expect(linksOf('star', 4, 1n)).toEqual([
    [0, 1],
    [0, 2],
    [0, 3],
  ]);
  expect(
    linksOf(
      {
        links: [
          ['node-2', 'node-0'],
          ['node-1', 'node-2'],
        ],
      },
      3,
      1n,
    ),
  ).toEqual([
    [0, 2],
    [1, 2],
  ]);
});

test('random links connect all nodes, give each its number of peers, and depend only on the seed', () => {
  fc.assert(
    fc.property(
      fc
        .integer({ min: 2, max: 30 })
        .chain((nodes) => fc.tuple(fc.constant(nodes), fc.integer({ min: 1, max: nodes - 1 }))),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      ([nodes, random], seed) => {
        const links = linksOf({ random }, nodes, seed) ?? [];
        expect(reached(links).size).toBe(nodes);
        expect(Math.min(...peersOf(links, nodes).map(({ length }) => length))).toBeGreaterThanOrEqual(random);
        expect(new Set(links.map(String)).size).toBe(links.length);
        expect(links.every(([one, other]) => one < other)).toBe(true);
        expect(linksOf({ random }, nodes, seed)).toEqual(links);
      },
    ),
    { numRuns: 50 },
  );
  expect(linksOf({ random: 2 }, 12, 1n)).not.toEqual(linksOf({ random: 2 }, 12, 2n));
});

test.each<[Parameters<typeof topologyMistakes>[0], NodeMode[], string]>([
  ['ring', full(2), 'ring: got 2 nodes, expected at least 3'],
  [{ random: 4 }, full(4), 'random: got 4, expected at most 3: so many others there are'],
  [
    { random: 1 },
    ['full', 'light', 'full'],
    'random: got a light node beside it, expected full nodes: a light one forwards nothing',
  ],
  [
    'star',
    ['full', 'full', 'boot'],
    'star: got a boot node beside it, expected none: it introduces nodes to each other',
  ],
  [{ links: [['node-0', 'node-0']] }, full(1), 'links[0]: got node-0 twice, expected two nodes'],
  [{ links: [['node-0', 'node-5']] }, full(2), 'links[0]: got node-5, expected node-0 to node-1'],
  [
    {
      links: [
        ['node-0', 'node-1'],
        ['node-1', 'node-0'],
      ],
    },
    full(2),
    'links[1]: got node-0 and node-1 again, expected each link once',
  ],
  [
    {
      links: [
        ['node-0', 'node-1'],
        ['node-2', 'node-3'],
      ],
    },
    full(4),
    'links: got no way from node-0 to node-2 through full nodes, expected one between all nodes',
  ],
  [
    'ring',
    ['full', 'light', 'light', 'full'],
    'ring: got node-1 linked to node-2, expected one of them to be full: light nodes serve nobody',
  ],
  [
    'star',
    ['light', 'full', 'full'],
    'star: got no way from node-1 to node-2 through full nodes, expected one between all nodes',
  ],
])('refuses an impossible topology: %j', (topology, modes, line) => {
  expect(topologyMistakes(topology, modes)).toEqual([line]);
});

test.each<[Parameters<typeof topologyMistakes>[0], NodeMode[]]>([
  ['mesh', ['full', 'light', 'boot']],
  ['star', full(1)],
  ['star', ['full', 'light', 'light']],
  ['ring', ['full', 'light', 'full']],
  [
    {
      links: [
        ['node-0', 'node-1'],
        ['node-2', 'node-1'],
      ],
    },
    ['full', 'full', 'light'],
  ],
])('accepts a possible topology: %j', (topology, modes) => {
  expect(topologyMistakes(topology, modes)).toEqual([]);
});
