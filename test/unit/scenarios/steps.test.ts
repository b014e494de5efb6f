import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { nextSecond } from '../../../scenarios/steps/steps.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('the next second has begun by the clock, also where a timer rings before it', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 41_999 });
  let isOver = false;
  const waiting = nextSecond(AbortSignal.timeout(60_000)).then(() => (isOver = true));
  // Several rings of the timer, while the clock stands still.
  for (let ring = 0; ring < 5; ring++) await setTimeout(2);
  expect(isOver).toBe(false);
  vi.setSystemTime(42_000);
  expect(await waiting).toBe(true);
});
