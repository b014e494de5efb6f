import { expect, test } from 'vitest';
import { allAtMost } from '../../../../harness/base/wait.ts';

test('results are in the order of the tasks, whichever ends first, and no more run at once than allowed', async () => {
  let under = 0;
  let most = 0;
  const works = [3, 1, 2, 0].map((turns) => async () => {
    most = Math.max(most, ++under);
    for (let i = 0; i < turns; i++) await Promise.resolve();
    under--;
    return turns;
  });
  expect(await allAtMost(2, works)).toEqual([3, 1, 2, 0]);
  expect(most).toBe(2);
  expect(await allAtMost(2, [])).toEqual([]);
});

test('after a failure no further task is begun', async () => {
  const begun: number[] = [];
  const works = [0, 1, 2, 3].map((n) => () => {
    begun.push(n);
    return n === 1 ? Promise.reject(new Error('no')) : Promise.resolve(n);
  });
  await expect(allAtMost(1, works)).rejects.toThrow('no');
  expect(begun).toEqual([0, 1]);
});
