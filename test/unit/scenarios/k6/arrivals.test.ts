import { expect, test } from 'vitest';
import { durationMs, intendedStartMs } from '../../../../scenarios/k6/lib/arrivals.js';

test('a constant rate starts iterations at equal distances', () => {
  const scenario = { executor: 'constant-arrival-rate', rate: 1200, timeUnit: '60s' };
  expect([0, 1, 20].map((n) => intendedStartMs(scenario, n))).toEqual([0, 50, 1000]);
});

test('a rising rate starts them closer and closer, as many as the area below the rate', () => {
  const scenario = {
    executor: 'ramping-arrival-rate',
    startRate: 0,
    timeUnit: '1s',
    stages: [{ duration: '10s', target: 20 }],
  };
  const at = Array.from({ length: 100 }, (_, n) => intendedStartMs(scenario, n) ?? 0);
  expect(at[99]).toBeCloseTo(10_000, 5);
  expect(at[24]).toBeCloseTo(5000, 5);
  const gaps = at.slice(1).map((ms, i) => ms - (at[i] ?? 0));
  expect(gaps.every((gap, i) => i === 0 || gap < (gaps[i - 1] ?? 0))).toBe(true);
});

test('a stage without length changes the rate at once', () => {
  const stages = [
    { duration: '1s', target: 10 },
    { duration: '0s', target: 100 },
    { duration: 1000, target: 100 },
  ];
  const scenario = { executor: 'ramping-arrival-rate', startRate: 10, timeUnit: '1s', stages };
  expect(intendedStartMs(scenario, 9)).toBeCloseTo(1000, 5);
  expect(intendedStartMs(scenario, 19)).toBeCloseTo(1100, 5);
  expect(intendedStartMs(scenario, 109)).toBeCloseTo(2000, 5);
});

test('closed models have no intended start times', () => {
  expect(intendedStartMs({ executor: 'constant-vus' }, 3)).toBeUndefined();
});

test('durations are parsed like those of k6', () => {
  expect([durationMs('1m30s'), durationMs('250ms'), durationMs('.5s'), durationMs(7)]).toEqual([
    90_000, 250, 500, 7,
  ]);
});

test('a text that is no duration is refused', () => {
  expect(() => durationMs('10 s')).toThrow("got '10 s', expected a duration such as 500ms, 15s or 1m30s");
});

test('null values of k6 mean its defaults', () => {
  const scenario = {
    executor: 'constant-arrival-rate',
    rate: 20,
    timeUnit: null,
    stages: null,
    startRate: null,
  };
  expect(intendedStartMs(scenario, 20)).toBe(1000);
});
