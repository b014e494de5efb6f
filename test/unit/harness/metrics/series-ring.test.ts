import { expect, test } from 'vitest';
import type { SeriesId } from '../../../../harness/metrics/series.ts';
import { SeriesRing } from '../../../../harness/metrics/series-ring.ts';

const SENT: SeriesId = { node: 'node-0', name: 'pushsync_total_sent', labels: {}, kind: 'counter' };
const HEAP: SeriesId = { node: 'node-0', name: 'nodejs_heap_size_used_bytes', labels: {}, kind: 'gauge' };
const GAP = Number.NaN;

test('holds the latest readings, oldest first, and drops older ones', () => {
  const ring = new SeriesRing(3);
  for (let at = 1; at <= 5; at++) ring.append({ at, values: new Map([[0, at * 10]]) }, [SENT]);
  expect(ring.columns()).toEqual({
    times: Float64Array.of(3, 4, 5),
    series: [{ ...SENT, values: Float64Array.of(30, 40, 50) }],
  });
});

test('a series that appears later or disappears has gaps', () => {
  const ring = new SeriesRing(4);
  ring.append({ at: 1, values: new Map([[0, 1]]) }, [SENT]);
  ring.append({ at: 2, values: new Map([[1, 2]]) }, [SENT, HEAP]);
  expect(ring.columns().series.map(({ values }) => [...values])).toEqual([
    [1, GAP],
    [GAP, 2],
  ]);
});

test('only the wanted series are kept', () => {
  const ring = new SeriesRing(2, ({ kind }) => kind === 'gauge');
  ring.append(
    {
      at: 1,
      values: new Map([
        [0, 1],
        [1, 2],
      ]),
    },
    [SENT, HEAP],
  );
  expect(ring.columns().series.map(({ name }) => name)).toEqual(['nodejs_heap_size_used_bytes']);
});
