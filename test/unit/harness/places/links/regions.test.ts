import { expect, test } from 'vitest';
import internet from '../../../../../harness/places/links/internet.json' with { type: 'json' };
import {
  linksOf,
  type Regions,
  regionMistakes,
  regionOf,
  roundTripMs,
} from '../../../../../harness/places/links/regions.ts';

const NODES = Array.from({ length: 2000 }, (_, index) => `node-${index}`);
const TWO: Regions = {
  shares: { east: 1, west: 3 },
  roundTripMs: { east: { east: 10, west: 90 }, west: { west: 20 } },
};

test('nodes are in regions by their shares, each by the seed and its name alone', () => {
  const placed = NODES.map((node) => regionOf(TWO, '7', node));
  expect(NODES.map((node) => regionOf(TWO, '7', node))).toEqual(placed);
  expect(NODES.map((node) => regionOf(TWO, '8', node))).not.toEqual(placed);
  const west = placed.filter((region) => region === 'west').length / NODES.length;
  expect(west).toBeGreaterThan(0.7);
  expect(west).toBeLessThan(0.8);
});

test('a link has the round trip of its two regions, in both directions', () => {
  const { between } = linksOf({ regions: TWO, jitterMs: 5 }, '7');
  for (const [one, other] of [
    ['node-0', 'node-1'],
    ['node-2', 'node-9'],
  ] as const) {
    const latencyMs = roundTripMs(TWO, regionOf(TWO, '7', one), regionOf(TWO, '7', other));
    expect(between(one, other)).toEqual({ latencyMs, jitterMs: 5 });
    expect(between(other, one)).toEqual({ latencyMs, jitterMs: 5 });
  }
  expect(between('node-0', undefined)).toBeUndefined();
});

test('the regions that come with the package are complete', () => {
  expect(regionMistakes(internet)).toEqual([]);
});

test.for([
  [{ east: { east: 1 } }, ['.roundTripMs.east.west: got nothing', '.roundTripMs.west.west: got nothing']],
  [
    { ...TWO.roundTripMs, north: { east: 3 } },
    ['.roundTripMs.north.east: got 3, expected regions of shares: east, west'],
  ],
  [
    { east: { east: 1, west: 90 }, west: { west: 1, east: 91 } },
    ['.roundTripMs.east.west: got 90, expected the value of west.east'],
  ],
] as [Regions['roundTripMs'], string[]][])('finds what is wrong with %j', ([given, lines]) => {
  const found = regionMistakes({ ...TWO, roundTripMs: given });
  expect(found).toHaveLength(lines.length);
  for (const [index, line] of lines.entries()) expect(found[index]).toContain(line);
});
