import { expect, test } from 'vitest';
import { Distribution, enoughFor } from '../../../../harness/metrics/distribution.ts';
import { TimelineRecorder } from '../../../../harness/metrics/timeline.ts';

function of(...samples: readonly number[]): Distribution {
  const distribution = Distribution.empty();
  for (const ms of samples) distribution.add(ms);
  return distribution;
}

test('no percentile lies outside the range of the samples', () => {
  // It lies in a bucket whose upper edge is 1235.
  const { p50Ms, p95Ms, p99Ms, minMs, maxMs } = of(...Array.from({ length: 100 }, () => 1234.567)).summary();
  expect([p50Ms, p95Ms, p99Ms, minMs, maxMs]).toEqual([1234.567, 1234.567, 1234.567, 1234.567, 1234.567]);
});

test.each([
  [50, 2],
  [75, 4],
  [90, 10],
  [95, 20],
  [99, 100],
  [99.9, 1000],
])('percentile %d needs %i samples', (percent, samples) => {
  expect(enoughFor(percent, samples)).toBe(true);
  expect(enoughFor(percent, samples - 1)).toBe(false);
});

test('without samples there are no figures at all', () => {
  expect(of().summary()).toEqual({
    p50Ms: null,
    p75Ms: null,
    p90Ms: null,
    p95Ms: null,
    p99Ms: null,
    p999Ms: null,
    minMs: null,
    meanMs: null,
    maxMs: null,
    histogram: '',
  });
});

test('a summary holds the whole distribution: read back and merged, it gives the percentiles of all samples', () => {
  const fast = Array.from({ length: 990 }, (_, i) => 1 + i / 100);
  const slow = Array.from({ length: 20 }, (_, i) => 1000 + i);
  const parts = [of(...fast), of(...slow)].map((part) => Distribution.of(part.summary()));
  const merged = Distribution.merged(parts);
  expect(merged.summary()).toEqual(of(...fast, ...slow).summary());
  expect(merged.count).toBe(1010);
  expect(merged.percentileMs(99)).toBeGreaterThan(1000);
});

test('anything longer than an hour keeps its true maximum', () => {
  expect(of(5_000_000).summary().maxMs).toBe(5_000_000);
});

test('a timeline counts by the second in which operations end, and leaves gaps empty', () => {
  const recorder = new TimelineRecorder();
  recorder.succeeded(10_100, 5, 100);
  recorder.succeeded(10_900, 15, 100);
  recorder.failed(12_000);
  expect(recorder.timeline('upload')).toEqual({
    operation: 'upload',
    startMs: 10_000,
    windowMs: 1000,
    count: [2, 0, 0],
    bytes: [200, 0, 0],
    errors: [0, 0, 1],
    p50Ms: [5, null, null],
    p99Ms: [15, null, null],
    maxMs: [15, null, null],
  });
});

test('a long run has wider windows, and loses nothing', () => {
  const recorder = new TimelineRecorder();
  for (let second = 0; second < 4000; second++) recorder.succeeded(second * 1000, 1, 1);
  const timeline = recorder.timeline('upload');
  expect(timeline?.windowMs).toBe(3000);
  expect(timeline?.count).toHaveLength(1334);
  expect(timeline?.count.reduce((a, b) => a + b)).toBe(4000);
});
