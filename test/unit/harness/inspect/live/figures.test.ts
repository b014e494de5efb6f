import { expect, test } from 'vitest';
import {
  figuresOf,
  latencyOf,
  type Reading,
  readingOf,
  sharedFigures,
} from '../../../../../harness/inspect/live/figures.ts';
import { FIGURES, type FigureName } from '../../../../../harness/web/picture/live.ts';

function reading(lines: readonly string[], at: number, asked = 0): Reading {
  return readingOf(`${lines.join('\n')}\n`, { at, asked });
}

function figure(
  name: FigureName,
  now: Reading,
  before?: Reading,
  waiting: number | null = null,
): number | null {
  return figuresOf(now, before, waiting)[FIGURES.indexOf(name)] ?? null;
}

test.each(['svc', 'bee'])('counters of a node with the prefix %s become rates', (prefix) => {
  const lines = (pushed: number, stored: number, pulled: number) => [
    `${prefix}_pusher_sync_time_count ${pushed}`,
    `${prefix}_pushsync_storer ${stored}`,
    `${prefix}_pullsync_chunks_delivered ${pulled}`,
  ];
  const [before, now] = [reading(lines(10, 5, 0), 1000), reading(lines(30, 6, 3), 3000)];
  expect(figure('pushed', now, before)).toBe(10);
  expect(figure('stored', now, before)).toBe(2);
  expect(figure('retrieved', now, before)).toBeNull();
});

test('there are no rates before the second reading', () => {
  const now = reading(['svc_pusher_sync_time_count 10', 'svc_api_request_count 5'], 1000);
  expect(figure('pushed', now)).toBeNull();
  expect(figure('requests', now)).toBeNull();
});

test('a counter of a restarted node continues from zero', () => {
  const before = reading(['svc_pusher_sync_time_count 1000'], 0);
  expect(figure('pushed', reading(['svc_pusher_sync_time_count 4'], 2000), before)).toBe(2);
});

test('requests made by the look itself are not counted', () => {
  const before = reading(['svc_api_request_count 100'], 0, 20);
  expect(figure('requests', reading(['svc_api_request_count 110'], 2000, 26), before)).toBe(2);
  expect(figure('requests', reading(['svc_api_request_count 104'], 2000, 26), before)).toBe(0);
});

test('chunks being pushed and chunks waiting make up the queue', () => {
  const now = reading(['svc_pusher_total_to_push 30', 'svc_pusher_total_synced 20'], 0);
  expect(figure('queue', now)).toBe(10);
  expect(figure('queue', now, undefined, 5)).toBe(15);
  expect(figure('queue', reading([], 0))).toBeNull();
});

test('processor, memory and event loop are those of the process', () => {
  const lines = (cpu: number) => [
    `process_cpu_seconds_total ${cpu}`,
    'process_resident_memory_bytes 1e+8',
    'nodejs_eventloop_lag_p99_seconds 0.012',
  ];
  const now = reading(lines(1.5), 2000);
  expect(figure('cpu', now, reading(lines(1), 0))).toBe(25);
  expect(figure('memory', now)).toBe(1e8);
  expect(figure('delay', now)).toBe(12);
});

test('percentiles cover all nodes, and only what finished between their readings', () => {
  const buckets = (fast: number, slow: number) => [
    `svc_pusher_sync_time_bucket{le="0.1"} ${fast}`,
    `svc_pusher_sync_time_bucket{le="0.2"} ${fast + slow}`,
    `svc_pusher_sync_time_bucket{le="+Inf"} ${fast + slow}`,
  ];
  const pair = (before: [number, number], now: [number, number]) => ({
    before: reading(buckets(...before), 0),
    now: reading(buckets(...now), 1000),
  });
  const pairs = [pair([500, 0], [550, 0]), pair([0, 100], [0, 150])];
  expect(latencyOf(pairs, 'push', 0.5)).toBe(100);
  expect(latencyOf(pairs, 'push', 0.95)).toBe(190);
  expect(latencyOf([pair([5, 5], [5, 5])], 'push', 0.5)).toBeNull();
  expect(latencyOf(pairs, 'retrieval', 0.5)).toBeNull();
});

test('anything slower than the last bound is reported as that bound', () => {
  const lines = (count: number) => [
    'svc_pusher_sync_time_bucket{le="30"} 0',
    `svc_pusher_sync_time_bucket{le="+Inf"} ${count}`,
  ];
  expect(latencyOf([{ before: reading(lines(0), 0), now: reading(lines(9), 1000) }], 'push', 0.5)).toBe(
    30_000,
  );
});

test('a process with several nodes has its own figures', () => {
  const before = { at: 0, cpuSeconds: 10, residentBytes: 1 };
  const now = { at: 2000, cpuSeconds: 11, residentBytes: 5 };
  expect(sharedFigures(now, undefined)).toEqual({ cpu: null, memory: 5 });
  expect(sharedFigures(now, before)).toEqual({ cpu: 50, memory: 5 });
});

test('an invalid exposition is an error that names the line', () => {
  expect(() => reading(['svc_pusher_sync_time_count 1', '<html>'], 0)).toThrow(/line 2/);
});
