import { expect, test } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { startedTwice } from '../../../../harness/commands/compare-flavours.ts';

function failing(...errors: readonly Error[]) {
  const left = [...errors];
  const reasons: string[] = [];
  const work = () => {
    const error = left.shift();
    return error === undefined ? Promise.resolve('run') : Promise.reject(error);
  };
  return { reasons, done: startedTwice(work, (why) => reasons.push(why)) };
}

const late = new HarnessError('WAIT_TIMEOUT', 'not meshed');

test('retries a start that timed out once, and reports the retry', async () => {
  const { done, reasons } = failing(late);
  expect(await done).toBe('run');
  expect(reasons).toEqual(['not meshed']);
});

test('ends the comparison after a second late start or any other error', async () => {
  await expect(failing(late, late).done).rejects.toBe(late);
  const other = new HarnessError('PORT_IN_USE', 'taken');
  const { done, reasons } = failing(other);
  await expect(done).rejects.toBe(other);
  expect(reasons).toEqual([]);
});
