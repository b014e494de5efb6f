import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { awaitAll } from '../../../../harness/base/await-all.ts';

test('what all works give comes in their order', async () => {
  expect(await awaitAll([sleep(5, 'late'), Promise.resolve('soon')])).toEqual(['late', 'soon']);
});

test('a failure is told when nothing is under way any more, the first of several', async () => {
  let ended = false;
  const slow = async () => {
    await sleep(20);
    ended = true;
    throw new Error('second');
  };
  await expect(awaitAll([Promise.reject(new Error('first')), slow()])).rejects.toThrow('first');
  expect(ended).toBe(true);
});
