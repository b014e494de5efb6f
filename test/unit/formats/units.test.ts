import { expect, test } from 'vitest';
import {
  durationText,
  parseDurationMs,
  parseSizeBytes,
  parseWaitMs,
  sizeText,
} from '../../../formats/units.ts';
import { formatDuration, parseDuration } from '../../../node/api/values/duration.ts';

test.each([
  ['500ms', 500],
  ['15s', 15_000],
  ['1m30s', 90_000],
  ['24h', 86_400_000],
  ['2d', 172_800_000],
  ['0.5s', 500],
])('%s is %i ms', (text, ms) => {
  expect(parseDurationMs(text)).toBe(ms);
});

test.each(['', '15', 's', '15 s', '15sec', '-1s', '1s!', '1us', '1constructor', '1'.repeat(64) + 's'])(
  "'%s' is no duration",
  (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  },
);

test('a time to wait is at most what a timer holds', () => {
  expect(parseWaitMs('24d')).toBe(24 * 86_400_000);
  expect(parseWaitMs('25d')).toBeUndefined();
  expect(parseDurationMs('25d')).toBe(25 * 86_400_000);
});

test.each([
  [0, '0s'],
  [500, '500ms'],
  [15_000, '15s'],
  [90_000, '1m30s'],
  [86_400_000, '1d'],
])('%i ms are written as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test.each([
  ['0', 0],
  ['1500', 1500],
  ['1m30s', 90_000],
  ['.5s', 500],
  ['2.s', 2000],
  ['250us', 0.25],
  ['250µs', 0.25],
  ['1000ns', 0.001],
])('the API reads %s as %d ms', (text, ms) => {
  expect(parseDuration(text)).toBeCloseTo(ms, 9);
});

test.each(['', '1d', '1.5', '-1s', '1 s', '9999999h'])("to the API '%s' is no duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test('what the API writes, it reads', () => {
  for (const text of ['0s', '412ns', '3.2µs', '5.0018ms', '1.5s', '2m3s', '1h0m0.5s']) {
    expect(formatDuration(parseDuration(text) ?? Number.NaN)).toBe(text);
  }
});

test.each([
  ['512', 512],
  ['512B', 512],
  ['64KiB', 65_536],
  ['1.5 GiB', 1_610_612_736],
  ['2MB', 2_000_000],
  ['3kB', 3000],
  ['0.3KiB', 307],
])('%s is %i bytes', (text, bytes) => {
  expect(parseSizeBytes(text)).toBe(bytes);
});

test.each(['', 'KiB', '-1', '1kib', '1Mbit', '4 apples', '9007199254740992', '1constructor'])(
  "'%s' is no size",
  (text) => {
    expect(parseSizeBytes(text)).toBeUndefined();
  },
);

test.each([
  [1000, '1000 B'],
  [65_536, '64 KiB'],
  [2 ** 28, '256 MiB'],
])('%i bytes are written as %s, and read again', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
  expect(parseSizeBytes(text)).toBe(bytes);
});
