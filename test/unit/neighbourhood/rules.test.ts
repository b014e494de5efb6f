import { expect, test } from 'vitest';
import { addressPrefix } from '../../../formats/chunk/address.ts';
import {
  coveredDepth,
  isTooEmpty,
  neighbourhoods,
  siblingPrefix,
  startRadius,
} from '../../../node/neighbourhood/rules.ts';
import { addressIn, OVERLAY } from '../store/stores.ts';

/** 1010 1111 0000… */
const overlay = new Uint8Array(32).fill(0xaf, 0, 1);

test.each([
  { withinRadius: 49, withinSmaller: 49, capacity: 100, pullRate: 0, tooEmpty: true },
  { withinRadius: 50, withinSmaller: 50, capacity: 100, pullRate: 0, tooEmpty: false },
  { withinRadius: 2, withinSmaller: 2, capacity: 5, pullRate: 0, tooEmpty: true },
  { withinRadius: 0, withinSmaller: 0, capacity: 1, pullRate: 0, tooEmpty: true },
  { withinRadius: 0, withinSmaller: 0, capacity: 100, pullRate: 0.1, tooEmpty: false },
  { withinRadius: 10, withinSmaller: 79, capacity: 100, pullRate: 0, tooEmpty: true },
  { withinRadius: 10, withinSmaller: 80, capacity: 100, pullRate: 0, tooEmpty: false },
])(
  '$withinRadius chunks, $withinSmaller with the next bin, of $capacity at $pullRate chunks per second: too empty is $tooEmpty',
  ({ tooEmpty, ...reserve }) => {
    expect(isTooEmpty(reserve)).toBe(tooEmpty);
  },
);

test.each([
  { bins: [], depth: 0 },
  { bins: [1, 2], depth: 0 },
  { bins: [0], depth: 1 },
  { bins: [2, 0, 1, 1, 0], depth: 3 },
  { bins: [0, 1, 3], depth: 2 },
  { bins: Array.from({ length: 32 }, (_, bin) => bin), depth: 31 },
])(
  'with peers in bins $bins the adjacent neighbourhoods are covered up to depth $depth',
  ({ bins, depth }) => {
    const peers = bins.map((bin) => ({ overlay: addressIn(bin, 1) }));
    expect(coveredDepth(OVERLAY, peers)).toBe(depth);
  },
);

test.each([
  { depth: 0, prefix: '0' },
  { depth: 1, prefix: '11' },
  { depth: 4, prefix: '10100' },
  { depth: 9, prefix: '1010111101' },
  { depth: 31, prefix: `10101111${'0'.repeat(23)}1` },
])('the neighbourhood adjacent to overlay 10101111 0… at depth $depth is $prefix', ({ depth, prefix }) => {
  expect(siblingPrefix(overlay, depth)).toBe(prefix);
  expect(addressPrefix(overlay, depth)).toBe(prefix.slice(0, -1));
});

test.each([
  { local: 0, minimum: 0, network: 3, start: 3 },
  { local: 2, minimum: 2, network: 1, start: 2 },
  { local: 2, minimum: 2, network: 5, start: 5 },
  { local: 3, minimum: 2, network: 5, start: 3 },
  { local: 3, minimum: 2, network: 1, start: 3 },
  { local: 0, minimum: 0, network: 4_294_967_295, start: 31 },
])('local $local, at least $minimum, network $network: begins with $start', ({ start, ...radius }) => {
  expect(startRadius(radius)).toBe(start);
});

const sizeFrom = (firstBin: number) => [15, 7, 3, 1, 0][firstBin] ?? 0;

test('a reserve keeps its own neighbourhood', () => {
  const at = (radius: number) => neighbourhoods(overlay, { radius, capacityDoubling: 0, sizeFrom });
  expect(at(0)).toEqual([{ prefix: '', size: 15, proximity: 0 }]);
  expect(at(2)).toEqual([{ prefix: '10', size: 3, proximity: 2 }]);
  expect(at(9)).toEqual([{ prefix: '101011110', size: 0, proximity: 9 }]);
});

test('a doubled reserve also keeps the adjacent neighbourhood', () => {
  const at = (radius: number) => neighbourhoods(overlay, { radius, capacityDoubling: 1, sizeFrom });
  expect(at(0)).toEqual([
    { prefix: '0', size: 8, proximity: 0 },
    { prefix: '1', size: 7, proximity: 1 },
  ]);
  expect(at(1)).toEqual([
    { prefix: '10', size: 3, proximity: 2 },
    { prefix: '11', size: 4, proximity: 1 },
  ]);
});
