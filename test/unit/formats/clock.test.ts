import { expect, test } from 'vitest';
import { runningTimer, systemClock } from '../../../formats/clock.ts';

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

/** Timers that fire when they are told to, and the time that is then. */
function machine() {
  let now = 0;
  let due: { readonly at: number; readonly wake: () => void } | undefined;
  return {
    monotonic: () => now,
    timer(ms: number, wake: () => void) {
      due = { at: now + ms, wake };
      return { [Symbol.dispose]: () => (due = undefined) };
    },
    /** @returns whether there is a timer left */
    fire(lateMs = 0): boolean {
      const fired = due;
      due = undefined;
      if (fired === undefined) return false;
      now = fired.at + lateMs;
      fired.wake();
      return due !== undefined;
    },
    get now() {
      return now;
    },
  };
}

test('what passes while a process is stopped is no time waited', () => {
  const stopped = machine();
  let woken = 0;
  using _timer = runningTimer(stopped, 60_000, () => woken++);
  stopped.fire();
  stopped.fire(62_000);
  expect(woken).toBe(0);
  while (stopped.fire());
  expect(woken).toBe(1);
  expect(stopped.now).toBeCloseTo(60_000 + 62_000 + 5000);
});

test('a stop in the last part of a wait leaves time to ask again', () => {
  const stopped = machine();
  let woken = 0;
  using _timer = runningTimer(stopped, 60_000, () => woken++);
  for (let part = 1; part < 12; part++) stopped.fire();
  stopped.fire(62_000);
  expect(woken).toBe(0);
});

test('a machine that is always late still ends a wait, and a disposed one never wakes', () => {
  const late = machine();
  let woken = 0;
  using _timer = runningTimer(late, 60_000, () => woken++);
  while (late.fire(3000));
  expect(woken).toBe(1);
  const ended = machine();
  const timer = runningTimer(ended, 60_000, () => woken++);
  ended.fire();
  timer[Symbol.dispose]();
  expect(ended.fire()).toBe(false);
  expect(woken).toBe(1);
});
