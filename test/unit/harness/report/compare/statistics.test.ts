import { expect, test } from 'vitest';
import {
  blockBootstrapError,
  crossoverMean,
  differenceOfMeans,
  differenceOfShares,
  normalEstimate,
  quantileOfT,
  TRIMMED,
  trimmedMean,
  weightedMedian,
} from '../../../../../harness/report/compare/statistics.ts';

test.each([
  [0.975, 1, 12.7062],
  [0.975, 5, 2.5706],
  [0.995, 10, 3.1693],
  [0.9995, 7, 5.4079],
  [0.975, 30, 2.0423],
  [0.975, Number.POSITIVE_INFINITY, 1.95996],
  [0.99995, Number.POSITIVE_INFINITY, 3.89059],
])(
  "the quantile of Student's t at %d with %d degrees of freedom agrees with published tables",
  (share, freedom, t) => {
    expect(quantileOfT(share, freedom)).toBeCloseTo(t, 3);
  },
);

test("the mean of a few values has Student's interval", () => {
  const { value, interval } = trimmedMean([1, 2, 3, 4, 5], TRIMMED);
  expect(value).toBe(3);
  const half = (2.7764 * Math.sqrt(2.5)) / Math.sqrt(5);
  expect(interval(0.95)[0]).toBeCloseTo(3 - half, 3);
  expect(interval(0.95)[1]).toBeCloseTo(3 + half, 3);
});

test('one outlier among ten values does not move the mean', () => {
  const usual = [0.01, -0.02, 0, 0.01, -0.01, 0.02, -0.01, 0, 0.01];
  const { value, interval } = trimmedMean([...usual, 5], TRIMMED);
  expect(Math.abs(value)).toBeLessThan(0.01);
  expect(interval(0.95)[1]).toBeLessThan(0.05);
});

test('the interval covers the truth about as often as it says', () => {
  let covered = 0;
  const random = congruential(7);
  for (let trial = 0; trial < 1000; trial++) {
    const values = Array.from({ length: 6 }, () => normal(random));
    const [low, high] = trimmedMean(values, TRIMMED).interval(0.95);
    if (low <= 0 && high >= 0) covered++;
  }
  expect(covered).toBeGreaterThan(930);
  expect(covered).toBeLessThan(970);
});

test('the cost of running second is not a difference between the sides', () => {
  const turned = [false, true, false, true, false, true];
  const noise = [0.01, -0.01, 0, 0.01, -0.01, 0];
  const differences = noise.map((value, i) => value + 0.05 + (turned[i] === true ? -0.3 : 0.3));
  const { value, interval } = crossoverMean(differences, turned, TRIMMED);
  expect(value).toBeCloseTo(0.05, 3);
  const [low, high] = interval(0.95);
  expect([low > 0.03, high < 0.07]).toEqual([true, true]);
  expect(trimmedMean(differences, TRIMMED).interval(0.95)[1]).toBeGreaterThan(0.3);
});

test('pairs that all began with the same side say nothing about the effect of order', () => {
  const differences = [0.1, 0.2, 0.3, 0.4];
  const same = [false, false, false, true];
  expect(crossoverMean(differences, same, TRIMMED).interval(0.95)).toEqual(
    trimmedMean(differences, TRIMMED).interval(0.95),
  );
});

test("means of sides with unequal spread are compared by Welch's method", () => {
  const { value, interval } = differenceOfMeans([20, 22, 24, 26], [30, 40, 50, 60], TRIMMED);
  expect(value).toBe(22);
  // Standard error 6.583, 3.240 degrees of freedom, quantile 3.052.
  expect(interval(0.95)[0]).toBeCloseTo(1.91, 1);
  expect(interval(0.95)[1]).toBeCloseTo(42.09, 1);
});

test('sides without any spread differ with certainty', () => {
  expect(differenceOfMeans([1, 1, 1], [2, 2, 2], TRIMMED).interval(0.95)).toEqual([1, 1]);
});

test("the difference of shares has Newcombe's interval", () => {
  // Newcombe 1998, table II, method 10: 56/70 and 48/80.
  const [low, high] = differenceOfShares({ count: 56, total: 70 }, { count: 48, total: 80 }).interval(0.95);
  expect(low).toBeCloseTo(-0.3339, 4);
  expect(high).toBeCloseTo(-0.0524, 4);
});

test('with no errors on either side, the interval is wide when there were few operations', () => {
  const none = (total: number) =>
    differenceOfShares({ count: 0, total }, { count: 0, total }).interval(0.95)[1];
  expect(none(20)).toBeGreaterThan(0.1);
  expect(none(10_000)).toBeLessThan(0.001);
});

test('a known error gives the interval of a normal distribution', () => {
  const [low, high] = normalEstimate(1, 0.5).interval(0.95);
  expect([low, high]).toEqual([expect.closeTo(0.02, 2), expect.closeTo(1.98, 2)]);
});

test('windows that depend on each other give a wider interval than independent ones', () => {
  const random = congruential(3);
  const alone = Array.from({ length: 200 }, () => 100 + 10 * normal(random));
  let drift = 0;
  const together = alone.map((value) => {
    drift = 0.95 * drift + (value - 100);
    return 100 + drift / 3;
  });
  const average = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const independent = blockBootstrapError(alone, average) as number;
  expect(independent).toBeCloseTo(0.1 / Math.sqrt(200), 2);
  expect(blockBootstrapError(together, average)).toBeGreaterThan(2 * independent);
});

test('blocks are drawn the same way every time', () => {
  const series = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];
  const largest = (values: readonly number[]) => Math.max(...values);
  expect(blockBootstrapError(series, largest)).toBe(blockBootstrapError(series, largest));
});

test('a statistic that may be zero has no relative error', () => {
  expect(blockBootstrapError([0, 0, 0, 1], (values) => Math.min(...values))).toBeUndefined();
});

test('a median counts each value as often as its weight says', () => {
  expect(
    weightedMedian([
      [10, 1],
      [20, 1],
      [1, 1],
    ]),
  ).toBe(10);
  expect(
    weightedMedian([
      [10, 1],
      [20, 5],
      [1, 1],
    ]),
  ).toBe(20);
  expect(
    weightedMedian([
      [10, 1],
      [20, 0],
      [1, 5],
    ]),
  ).toBe(1);
});

/** Numbers from 0 to below 1. */
function congruential(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
