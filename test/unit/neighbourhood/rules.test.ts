import { expect, test } from 'vitest';
import { isTooEmpty, neighbourhoods, startRadius } from '../../../node/neighbourhood/rules.ts';

test.each([
  { withinRadius: 49, capacity: 100, pullRate: 0, tooEmpty: true },
  { withinRadius: 50, capacity: 100, pullRate: 0, tooEmpty: false },
  { withinRadius: 2, capacity: 5, pullRate: 0, tooEmpty: true },
  { withinRadius: 0, capacity: 1, pullRate: 0, tooEmpty: true },
  { withinRadius: 0, capacity: 100, pullRate: 0.1, tooEmpty: false },
])(
  '$withinRadius chunks of $capacity at $pullRate chunks per second: too empty is $tooEmpty',
  ({ tooEmpty, ...reserve }) => {
    expect(isTooEmpty(reserve)).toBe(tooEmpty);
  },
);

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

/** 1010 1111 0000… */
const overlay = new Uint8Array(32).fill(0xaf, 0, 1);
/** Eight chunks in bin 0, four in bin 1 and so on. */
const sizeFrom = (firstBin: number) => [15, 7, 3, 1, 0][firstBin] ?? 0;

test('a reserve keeps its own neighbourhood', () => {
  const at = (radius: number) => neighbourhoods(overlay, { radius, capacityDoubling: 0, sizeFrom });
  expect(at(0)).toEqual([{ prefix: '', size: 15, proximity: 0 }]);
  expect(at(2)).toEqual([{ prefix: '10', size: 3, proximity: 2 }]);
  expect(at(9)).toEqual([{ prefix: '101011110', size: 0, proximity: 9 }]);
});

test('a doubled reserve keeps the neighbourhood beside it as well', () => {
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
