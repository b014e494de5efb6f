import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../formats/random.ts';
import { parseReads } from '../../../../../harness/run/load/reads.ts';
import { chooser } from '../../../../../scenarios/k6/lib/reads.js';

const random = seededRandom('reads');

function counts(text: string): number[] {
  const choose = chooser(parseReads(text), 10);
  const seen = Array.from({ length: 10 }, () => 0);
  for (let i = 0; i < 10_000; i++) {
    const which = choose(random.below(2 ** 32) / 2 ** 32);
    seen[which] = (seen[which] ?? 0) + 1;
  }
  return seen;
}

test('cold reads pick all items equally often', () => {
  for (const count of counts('cold')) expect(count).toBeGreaterThan(800);
});

test('with exponent 1 the n-th most popular item is read 1/n as often as the first', () => {
  const [first = 0, second = 0, , fourth = 0, , , , , , last = 0] = counts('zipf:1');
  expect(first / second).toBeGreaterThan(1.7);
  expect(first / second).toBeLessThan(2.3);
  expect(first / fourth).toBeGreaterThan(3.3);
  expect(last).toBeGreaterThan(0);
});

test.each(['', 'hot', 'zipf', 'zipf:0', 'zipf:9', 'zipf:x'])('refuses %j', (text) => {
  expect(() => parseReads(text)).toThrow(`--reads: got '${text}', expected 'cold' or 'zipf:EXPONENT'`);
});
