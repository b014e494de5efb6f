/** Operations begin by the clock, whether or not earlier ones have ended. */
import type { Clock } from '../../../formats/clock.ts';

/** With this many under way the network no longer keeps up, and more would only fill memory. */
export const UNDER_WAY_MAX = 256;

/** What shall begin, and when. */
export interface OpenLoop {
  readonly perSecond: number;
  readonly durationMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What began. */
export interface Arrivals {
  readonly planned: number;
  /** Operations that never began, because 256 were under way when they should have. */
  readonly dropped: number;
  /** Time from the first intended start to the last end. */
  readonly wallMs: number;
}

/**
 * Begins operations at a rate and waits for them.
 * @param work is told its number from 0 and its intended start, in monotonic milliseconds of the clock
 * @throws what a `work` throws: no more begin then; the signal's reason
 */
export async function atRate(
  { perSecond, durationMs, clock, signal }: OpenLoop,
  work: (index: number, intendedMs: number) => Promise<void>,
): Promise<Arrivals> {
  const began = clock.monotonic();
  const planned = Math.floor((perSecond * durationMs) / 1000);
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let dropped = 0;
  try {
    for (let index = 0; index < planned && failures.length === 0; index++) {
      const intendedMs = began + (index * 1000) / perSecond;
      const early = intendedMs - clock.monotonic();
      if (early > 0) await clock.sleep(early, signal);
      // While this process was busy, some may have ended that it has not heard of.
      if (underWay.size === UNDER_WAY_MAX) await clock.turn();
      if (underWay.size === UNDER_WAY_MAX) {
        dropped++;
        continue;
      }
      const one: Promise<void> = work(index, intendedMs)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(one));
      underWay.add(one);
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failures.length > 0) throw failures[0];
  return { planned, dropped, wallMs: clock.monotonic() - began };
}
