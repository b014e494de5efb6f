import { onTestFinished, vi } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

/** Until the end of the test the machine's clock, as what shows progress to a person reads it, is moved by hand. */
export function manualMachine(): ManualClock {
  const clock = new ManualClock();
  const spies = [
    vi.spyOn(MACHINE_CLOCK, 'monotonic').mockImplementation(() => clock.monotonic()),
    vi.spyOn(MACHINE_CLOCK, 'timer').mockImplementation((ms, wake) => clock.timer(ms, wake)),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return clock;
}
