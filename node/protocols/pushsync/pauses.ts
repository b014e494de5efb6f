/**
 * Neighbourhoods that take no chunks now, because their reserves are full or no node is there. Pushing returns to them after
 * a growing pause, so that unplaceable chunks do not occupy every slot.
 */
import { addressPrefix } from '../../../formats/chunk/address.ts';
import type { Clock } from '../../../formats/clock.ts';

/** Failures in a row: single ones may have other causes. */
const FAILURES_MAX = 4;
/** Doubles with every pause that did not help. */
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** Shorter pauses are not reported. */
const TOLD_MS = 4_000;

export interface Pause {
  /** First address bits, as `0` and `1`. */
  readonly neighbourhood: string;
  readonly reason: string;
  /** Unix ms of the first failure. */
  readonly since: number;
}

interface Trouble extends Pause {
  readonly failures: number;
  readonly pauseMs: number;
  /** Monotonic; the next push then extends or ends the pause. */
  readonly until: number;
}

export class Pauses {
  readonly #clock: Clock;
  readonly #troubled = new Map<string, Trouble>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when it need not wait. */
  waitsFor(address: Uint8Array): string | undefined {
    const now = this.#clock.monotonic();
    for (const { neighbourhood, until } of this.#troubled.values()) {
      if (until > now && isIn(address, neighbourhood)) return neighbourhood;
    }
    return undefined;
  }

  /** @returns whether that is worth reporting */
  failed(neighbourhood: string, reason: string): boolean {
    const now = this.#clock.monotonic();
    const before = this.#troubled.get(neighbourhood);
    const since = before?.since ?? this.#clock.now();
    const failures = (before?.failures ?? 0) + 1;
    let { pauseMs, until } = before ?? { pauseMs: 0, until: 0 };
    // Pushes already under way are no news.
    if (failures >= FAILURES_MAX && until <= now) {
      pauseMs = Math.min(Math.max(pauseMs * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
      until = now + pauseMs;
    }
    this.#troubled.set(neighbourhood, { neighbourhood, reason, since, failures, pauseMs, until });
    return pauseMs >= TOLD_MS && (before?.pauseMs ?? 0) < TOLD_MS;
  }

  /** Nothing is wrong with the chunk's neighbourhoods any more. */
  arrived(address: Uint8Array): void {
    for (const neighbourhood of this.#troubled.keys()) {
      if (isIn(address, neighbourhood)) this.#troubled.delete(neighbourhood);
    }
  }

  /** Until the first pause ends; undefined without any. */
  get endsInMs(): number | undefined {
    const now = this.#clock.monotonic();
    const left = [...this.#troubled.values()].map(({ until }) => until - now).filter((ms) => ms > 0);
    return left.length === 0 ? undefined : Math.min(...left);
  }

  list(): Pause[] {
    return [...this.#troubled.values()]
      .filter(({ pauseMs }) => pauseMs >= TOLD_MS)
      .map(({ neighbourhood, reason, since }) => ({ neighbourhood, reason, since }));
  }
}

function isIn(address: Uint8Array, neighbourhood: string): boolean {
  return addressPrefix(address, neighbourhood.length) === neighbourhood;
}
