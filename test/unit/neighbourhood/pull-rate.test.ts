import { expect, test } from 'vitest';
import { PullRate } from '../../../node/neighbourhood/pull-rate.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

test.each([7_200_000, -7_200_000])(
  'a clock that is set by %s ms does not end the windows: 0 would mean that nothing is left to pull',
  async (offsetMs) => {
    const clock = new ManualClock();
    const rate = new PullRate(10_000, clock);
    rate.add(100);
    await clock.advance(1_000);
    clock.set(offsetMs);
    expect(rate.perSecond()).toBe(10);
    rate.add(100);
    clock.set(0);
    expect(rate.perSecond()).toBe(20);
  },
);
