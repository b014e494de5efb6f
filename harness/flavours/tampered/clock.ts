/** Durations stay right: a system set to another time still knows how long a second is. */
import type { Clock } from '../../../formats/clock.ts';
import type { Surroundings } from './surroundings.ts';

const MILLION = 1_000_000;

export function wrongClock(base: Clock, surroundings: Pick<Surroundings, 'clocks'>): Clock {
  let lastNs = 0n;
  const now = () => {
    const right = base.now();
    let shift = 0;
    for (const { fault, count } of surroundings.clocks) {
      count('clock reads shifted');
      shift += fault.offsetMs + ((right - fault.since) * fault.driftPpm) / MILLION;
    }
    return Math.round(right + shift);
  };
  return {
    now,
    monotonic: () => base.monotonic(),
    nowNs() {
      const wallNs = BigInt(now()) * 1_000_000n;
      // Timestamps of one start stay in order, even when the clock is set back.
      lastNs = wallNs > lastNs ? wallNs : lastNs + 1n;
      return lastNs;
    },
    sleep: (ms, signal) => base.sleep(ms, signal),
    turn: () => base.turn(),
    timer: (...how) => base.timer(...how),
    deadline: (...how) => base.deadline(...how),
  };
}
