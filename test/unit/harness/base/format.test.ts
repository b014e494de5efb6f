import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { nearest } from '../../../../formats/nearest.ts';
import {
  formatMs,
  grouped,
  inUnits,
  plural,
  suggestion,
  tokenColumn,
} from '../../../../harness/base/format.ts';

const COMMANDS = ['up', 'ps', 'status', 'stamp', 'start', 'stop'];

test.each([
  ['statsu', 'status'],
  ['stat', 'start'],
  ['STATUS', 'status'],
])("'%s' is a slip of '%s'", (given, word) => {
  expect(nearest(given, COMMANDS)).toBe(word);
});

test('a word that resembles none is not corrected', () => {
  expect(nearest('conformance', COMMANDS)).toBeUndefined();
  expect(suggestion('conformance', COMMANDS)).toBe('');
});

property.prop([fc.constantFrom(...COMMANDS)])('a known word is nearest to itself', (word) => {
  expect(nearest(word, COMMANDS)).toBe(word);
});

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1300, '1.3 s'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [172_799_000, '47 h 59 min'],
  [100_000_000_000, '1,157 days'],
])('%i ms is shown as %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});

test.each([
  [1, 'batch', '1 batch'],
  [5, 'batch', '5 batches'],
  [2, 'node', '2 nodes'],
])('%i %s is written %s', (count, noun, text) => {
  expect(plural(count, noun)).toBe(text);
});

test('digits are grouped by three, even beyond the range of a number', () => {
  expect([grouped(999), grouped(1234.5678), grouped(10n ** 21n)]).toEqual([
    '999',
    '1,234.5678',
    '1,000,000,000,000,000,000,000',
  ]);
});

test('base units are converted to tokens without losing a digit', () => {
  expect([inUnits(0n, 16), inUnits(1n, 16), inUnits(15n, 1), inUnits(500n * 10n ** 18n, 18)]).toEqual([
    '0',
    '0.0000000000000001',
    '1.5',
    '500',
  ]);
});

test('token amounts in a column have the same decimals', () => {
  expect(tokenColumn([0n, 13_595_500_000_000n, 50n * 10n ** 16n])).toEqual([
    '0.00000000',
    '0.00135955',
    '50.00000000',
  ]);
  expect(tokenColumn([0n, 10n ** 16n])).toEqual(['0', '1']);
  expect(tokenColumn([])).toEqual([]);
});
