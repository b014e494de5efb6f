import { expect, test } from 'vitest';
import { pilotCount, tooSlow } from '../../../../../harness/cluster/start/node-waves.ts';

test('few nodes start without pilots; of many, the pilots are eight, or two per processor', () => {
  expect([1, 31].map((nodes) => pilotCount(nodes, 2))).toEqual([0, 0]);
  expect([32, 200].map((nodes) => pilotCount(nodes, 2))).toEqual([8, 8]);
  expect([63, 64].map((nodes) => pilotCount(nodes, 8))).toEqual([0, 16]);
});

test('a hopeless pace says how long all nodes would take, and how many would fit', () => {
  const start = { nodes: 80, pilots: 8, limitMs: 20_000 };
  expect(tooSlow(start, 8000)).toEqual({ msPerNode: 1000, expectedMs: 80_000, fits: 20 });
  expect(tooSlow(start, 200_000)).toEqual({ msPerNode: 25_000, expectedMs: 2_000_000, fits: 1 });
});

test('a pace up to twice too slow is accepted', () => {
  const start = { nodes: 80, pilots: 8, limitMs: 20_000 };
  expect(tooSlow(start, 1000)).toBeUndefined();
  expect(tooSlow(start, 4000)).toBeUndefined();
  expect(tooSlow(start, 4001)).toMatchObject({ fits: 39 });
});
