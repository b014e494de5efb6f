import { expect, test } from 'vitest';
import { uncovered } from '../../../../../harness/inspect/status/coverage.ts';

const storer = (bits: string, radius: number) => {
  const overlay = new Uint8Array(32);
  overlay[0] = Number.parseInt(bits.padEnd(8, '0'), 2);
  return { overlay, radius };
};

test('with radius 0 one node covers everything', () => {
  expect(uncovered([storer('1011', 0)])).toEqual([]);
});

test('every part without a node is named once, at its full size', () => {
  expect(uncovered([storer('00', 2), storer('111', 3)])).toEqual(['01', '10', '110']);
});

test('a node with a smaller radius covers what a deeper one beside it does not', () => {
  expect(uncovered([storer('000', 3), storer('01', 1), storer('10', 1)])).toEqual([]);
});

test('a network that gave no answer has no uncovered parts', () => {
  expect(uncovered([])).toEqual([]);
});
