import { expect, test } from 'vitest';
import { debtsOf } from '../../../../../harness/cluster/books/debts.ts';

function books(debts: Record<string, Record<string, bigint>>) {
  return new Map(
    Object.entries(debts).map(([name, rows]) => [
      name,
      Object.entries(rows).map(([peer, balance]) => ({ peer, balance })),
    ]),
  );
}

test('a debt on which both ends agree is one row, and the largest comes first', () => {
  expect(debtsOf(books({ a: { b: -5n, c: 7n }, b: { a: 5n, c: 0n }, c: { a: -7n, b: 0n } }))).toEqual([
    { debtor: 'c', creditor: 'a', units: 7n },
    { debtor: 'a', creditor: 'b', units: 5n },
  ]);
});

test('where the ends differ, both counts are shown', () => {
  expect(debtsOf(books({ a: { b: -5n }, b: { a: 3n } }))).toEqual([
    { debtor: 'a', creditor: 'b', units: 5n, creditorCounts: 3n },
  ]);
  expect(debtsOf(books({ a: {}, b: { a: 3n } }))).toEqual([
    { debtor: 'a', creditor: 'b', units: 0n, creditorCounts: 3n },
  ]);
});

test('for a node that was not asked, the count of the other end is used', () => {
  expect(debtsOf(books({ a: { gone: 4n, away: -2n } }))).toEqual([
    { debtor: 'gone', creditor: 'a', units: 4n },
    { debtor: 'a', creditor: 'away', units: 2n },
  ]);
});

test('two nodes that each say that the other owes give two rows, each denied by the other end', () => {
  expect(debtsOf(books({ a: { b: 5n }, b: { a: 5n } }))).toEqual([
    { debtor: 'b', creditor: 'a', units: 0n, creditorCounts: 5n },
    { debtor: 'a', creditor: 'b', units: 0n, creditorCounts: 5n },
  ]);
});
