import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { awaitAll } from '../../../../harness/base/await-all.ts';

test('results come in the order of the tasks', async () => {
  expect(await awaitAll([sleep(5, 'late'), Promise.resolve('soon')])).toEqual(['late', 'soon']);
});

test('the first of several failures is thrown once no task is under way', async () => {
  let ended = false;
  const slow = async () => {
    await sleep(20);
    ended = true;
    throw new Error('second');
  };
  await expect(awaitAll([Promise.reject(new Error('first')), slow()])).rejects.toThrow('first');
  expect(ended).toBe(true);
});
