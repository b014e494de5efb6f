import { expect, test } from 'vitest';
import { clock, moment, quantity, type Unit } from '../../../../harness/web/base/format.ts';
import { chartSummary } from '../../../../harness/web/chart/chart-summary.ts';

test.each<[number | null, Unit, string]>([
  [0.1234, 'ms', '0.123 ms'],
  [41.26, 'ms', '41.3 ms'],
  [1270, 'ms', '1.27 s'],
  [125_000, 'ms', '2 min 5 s'],
  [5_400_000, 'ms', '1 h 30 min'],
  [7_199_000, 'ms', '2 h 0 min'],
  [1536, 'bytes', '1.5 KiB'],
  [12, 'bytes', '12 B'],
  [12_400, 'count', '12,400'],
  [9.812, 'MiB/s', '9.81 MiB/s'],
  [26.93, '%', '26.9 %'],
  [null, 'ms', '–'],
  [Number.NaN, '%', '–'],
])('%s %s is written as %s', (value, unit, text) => {
  expect(quantity(value, unit)).toBe(text);
});

test('time since the beginning is shown as a clock, also before it', () => {
  const times = [0, 7000, 59_999.9, 750_000, 3_723_004];
  expect(times.map((ms) => clock(ms))).toEqual([
    '0:00.000',
    '0:07.000',
    '0:59.999',
    '12:30.000',
    '1:02:03.004',
  ]);
  expect(times.map((ms) => clock(ms, 0))).toEqual(['0:00', '0:07', '0:59', '12:30', '1:02:03']);
  expect(clock(2250, 1)).toBe('0:02.2');
  expect(clock(-500)).toBe('-0:00.500');
});

test('a moment is shown with its date and zone', () => {
  expect(moment(1_700_000_000_345)).toBe('2023-11-14 22:13:20.345 UTC');
});

test('the description of a chart has the range of each series', () => {
  const series = [
    { label: 'upload', values: [1, null, 3] },
    { label: 'download', values: [null] },
  ];
  expect(chartSummary({ title: 'Throughput', unit: 'MiB/s', timesMs: [], series })).toBe(
    'upload: 1 MiB/s to 3 MiB/s; download: no values.',
  );
});
