import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';

const clock = systemClock();
/** The runtime's timers wrap around at 24 days. */
const MONTHS_MS = 90 * 86_400_000;
const SHORT_MS = 20;

test('who waits for months is not woken at once', async () => {
  const woken: string[] = [];
  const leaving = new AbortController();
  using _timer = clock.timer(MONTHS_MS, () => woken.push('timer'));
  using deadline = clock.deadline(MONTHS_MS);
  deadline.signal.addEventListener('abort', () => woken.push('deadline'));
  const slept = clock.sleep(MONTHS_MS, leaving.signal).then(() => woken.push('sleep'));
  await clock.sleep(SHORT_MS);
  expect(woken).toEqual([]);
  leaving.abort(new Error('enough'));
  await expect(slept).rejects.toThrow('enough');
});
