import { expect, test } from 'vitest';
import { ResultTable } from '../../../formats/shared-results.ts';

const SIZES = { inputMax: 16, result: 2 };
const HEAD = Uint8Array.of(1, 2, 3, 4);
const REST = Uint8Array.of(5, 6, 7);
const RESULT = Uint8Array.of(8, 9);

test('a result is found by the same bytes in other memory', () => {
  const table = new ResultTable(4, SIZES);
  table.put(HEAD, REST, RESULT);
  expect(table.find(HEAD.slice(), REST.slice())).toEqual(RESULT);
});

test.each([
  ['the first byte of the head', Uint8Array.of(5, 2, 3, 4), REST],
  ['the last byte of the head', Uint8Array.of(1, 2, 3, 0), REST],
  ['the last byte of the rest', HEAD, Uint8Array.of(5, 6, 0)],
  ['a byte more', HEAD, Uint8Array.of(5, 6, 7, 0)],
  ['a byte less', HEAD, Uint8Array.of(5, 6)],
])('another input has no result: %s', (_, head, rest) => {
  const table = new ResultTable(4, SIZES);
  table.put(HEAD, REST, RESULT);
  expect(table.find(head, rest)).toBeUndefined();
});

test('changing bytes after they were given or received changes no result', () => {
  const table = new ResultTable(4, SIZES);
  const given = { head: HEAD.slice(), rest: REST.slice(), result: RESULT.slice() };
  table.put(given.head, given.rest, given.result);
  for (const bytes of Object.values(given)) bytes.fill(0);
  table.find(HEAD, REST)?.fill(0);
  expect(table.find(HEAD, REST)).toEqual(RESULT);
  expect(table.find(given.head, given.rest)).toBeUndefined();
});

test('a table holds one result for each slot, the latest', () => {
  const table = new ResultTable(1, SIZES);
  const other = Uint8Array.of(9, 9, 9, 9);
  table.put(HEAD, REST, RESULT);
  table.put(other, REST, Uint8Array.of(0, 1));
  expect(table.find(HEAD, REST)).toBeUndefined();
  expect(table.find(other, REST)).toEqual(Uint8Array.of(0, 1));
});

test('an input longer than the table takes is not kept, and one of full length is', () => {
  const table = new ResultTable(1, SIZES);
  table.put(HEAD, new Uint8Array(13), RESULT);
  expect(table.find(HEAD, new Uint8Array(13))).toBeUndefined();
  table.put(HEAD, new Uint8Array(12), RESULT);
  expect(table.find(HEAD, new Uint8Array(12))).toEqual(RESULT);
});

test('an empty table has no result for zeros', () => {
  expect(new ResultTable(4, SIZES).find(new Uint8Array(4), new Uint8Array(0))).toBeUndefined();
});
