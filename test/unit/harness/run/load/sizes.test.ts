import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../formats/random.ts';
import { sizeOf } from '../../../../../harness/run/load/k6/pieces.ts';
import { meanSize, parseSizes } from '../../../../../harness/run/load/sizes.ts';

const random = seededRandom('sizes');
const draw = () => [0, 1, 2].map(() => random.below(2 ** 32) / 2 ** 32);
const draws = (text: string, count = 4000) => {
  const sizes = parseSizes(text);
  return Array.from({ length: count }, () => sizeOf(sizes, draw()));
};

test('a fixed size is always that size', () => {
  expect(new Set(draws('4KiB', 20))).toEqual(new Set([4096]));
});

test('a range gives every size in it, and none outside', () => {
  expect([...new Set(draws('7B..9B', 200))].sort((a, b) => a - b)).toEqual([7, 8, 9]);
});

test('half of a lognormal distribution is below its median, and nothing exceeds 64 times the median', () => {
  const all = draws('lognormal:64KiB').toSorted((a, b) => a - b);
  const below = all.filter((size) => size <= 65_536).length / all.length;
  expect(below).toBeGreaterThan(0.45);
  expect(below).toBeLessThan(0.55);
  expect(all[0]).toBeGreaterThan(0);
  expect(all.at(-1)).toBeLessThanOrEqual(64 * 65_536);
});

test('the spread of a lognormal distribution can be chosen', () => {
  const within = (text: string) => draws(text).filter((size) => size > 32_768 && size < 131_072).length;
  expect(within('lognormal:64KiB:0.2')).toBeGreaterThan(within('lognormal:64KiB:2'));
});

test('weights determine how often each part is drawn', () => {
  const all = draws('1B*9,2B');
  expect(all.filter((size) => size === 1).length / all.length).toBeGreaterThan(0.86);
  expect(all.filter((size) => size === 2).length).toBeGreaterThan(0);
});

test('the mean covers all parts by their weights', () => {
  expect(meanSize(parseSizes('1KiB*3,5KiB'))).toBe(2048);
  expect(meanSize(parseSizes('1B..3B'))).toBe(2);
});

test.each([
  ['', "'' is no size"],
  ['4XB', "'4XB' is no size"],
  ['0B', "'0B' is not between 1B and 1GiB"],
  ['2GiB', "'2GiB' is not between"],
  ['2MiB..1MiB', "'2MiB..1MiB' ends below its begin"],
  ['1B..2B..3B', 'expected sizes such as'],
  ['1B*0', "has '0'"],
  ['1B*many', "has 'many'"],
  ['lognormal:64KiB:9', "at most 3, got '9'"],
  ['lognormal:x', "'x' is no size"],
])('refuses %s and says why', (text, why) => {
  expect(() => parseSizes(text)).toThrow(why);
  expect(() => parseSizes(text)).toThrow('--sizes: got');
});
