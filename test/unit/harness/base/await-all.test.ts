import { expect, test, vi } from 'vitest';
import { awaitAll } from '../../../../harness/base/wait.ts';

test('results come in the order of the tasks', async () => {
  const late = Promise.withResolvers<string>();
  const soon = Promise.resolve('soon');
  void soon.then(() => late.resolve('late'));
  expect(await awaitAll([late.promise, soon])).toEqual(['late', 'soon']);
});

test('the first of several failures is thrown once no task is under way', async () => {
  const slow = Promise.withResolvers<never>();
  const thrown = vi.fn<(error: Error) => void>();
  const all = awaitAll([Promise.reject(new Error('first')), slow.promise]).catch(thrown);
  await new Promise(setImmediate);
  expect(thrown).not.toHaveBeenCalled();
  slow.reject(new Error('second'));
  await all;
  expect(thrown.mock.calls).toEqual([[new Error('first')]]);
});
