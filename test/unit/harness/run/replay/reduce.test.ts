import { expect, test } from 'vitest';
import { lowered, shortened } from '../../../../../harness/run/replay/reduce.ts';

async function shortest(items: readonly number[], needed: readonly number[]) {
  const asked: (readonly number[])[] = [];
  const left = await shortened(items, async (rest) => {
    asked.push(rest);
    return needed.every((item) => rest.includes(item));
  });
  return { left, asked };
}

const HUNDRED = Array.from({ length: 100 }, (_, n) => n);

test.each([[[]], [[0]], [[99]], [[3, 57]], [[10, 11, 12]], [[0, 50, 99]]])(
  'only %j are left of a hundred items',
  async (needed) => {
    const { left, asked } = await shortest(HUNDRED, needed);
    expect(left).toEqual(needed);
    expect(asked.length).toBeLessThan(100);
  },
);

test('nothing is left out when all items are needed', async () => {
  expect((await shortest([1, 2, 3], [1, 2, 3])).left).toEqual([1, 2, 3]);
});

test('a number is lowered to the smallest that suffices', async () => {
  for (const least of [1, 7, 63, 64]) {
    const asked: number[] = [];
    const found = await lowered(64, 1, async (value) => {
      asked.push(value);
      return value >= least;
    });
    expect(found).toBe(least);
    expect(asked.length).toBeLessThan(10);
  }
});
