import { expect, test } from 'vitest';
import { increase, rate } from '../../../../harness/metrics/series.ts';

const GAP = Number.NaN;

test('a rate is the gain of a counter per second since the previous value', () => {
  expect([...rate([0, 1000, 3000], [5, 15, 25])]).toEqual([GAP, 10, 5]);
});

test('a counter that has fallen restarted at zero', () => {
  expect([...rate([0, 1000, 2000], [100, 4, 10])]).toEqual([GAP, 4, 6]);
  expect(increase([100, 110, 4, 10])).toBe(20);
});

test('a gap has no rate, and the value after it counts from the last one before', () => {
  expect([...rate([0, 1000, 2000, 4000], [0, GAP, 10, 30])]).toEqual([GAP, GAP, 5, 10]);
  expect(increase([GAP, 3, GAP, 8])).toBe(5);
});

test('a series without values has an unknown increase', () => {
  expect(increase([GAP, GAP])).toBeNaN();
  expect(increase([7])).toBe(0);
});
