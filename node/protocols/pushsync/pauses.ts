/**
 * Neighbourhoods that take no chunks now, because their reserves are full or no node is there: pushing continues in
 * all others, and returns to these after a growing pause. Otherwise chunks that cannot be placed would occupy every
 * slot and keep the processor busy.
 */
import { addressPrefix } from '../../../formats/chunk/address.ts';
import type { Clock } from '../../../formats/clock.ts';

/** Failures in a row after which a neighbourhood is paused: single ones may have other causes. */
const FAILURES_MAX = 4;
/** Milliseconds; doubles with every pause that did not help. */
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** Shortest pause worth reporting: shorter ones are no trouble. */
const TOLD_MS = 4_000;

export interface Pause {
  /** First bits of the addresses, as `0` and `1`. */
  readonly neighbourhood: string;
  /** What the last push said. */
  readonly reason: string;
  /** Unix milliseconds of the first failure. */
  readonly since: number;
}

interface Trouble extends Pause {
  readonly failures: number;
  readonly pauseMs: number;
  /** Monotonic end of the pause; the next push then extends or ends it. */
  readonly until: number;
}

export class Pauses {
  readonly #clock: Clock;
  readonly #troubled = new Map<string, Trouble>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The neighbourhood that a chunk has to wait for at this moment. */
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
    // Pushes that were under way when the pause began are no news.
    if (failures >= FAILURES_MAX && until <= now) {
      pauseMs = Math.min(Math.max(pauseMs * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
      until = now + pauseMs;
    }
    this.#troubled.set(neighbourhood, { neighbourhood, reason, since, failures, pauseMs, until });
    return pauseMs >= TOLD_MS && (before?.pauseMs ?? 0) < TOLD_MS;
  }

  /** A push succeeded: whatever was wrong with the neighbourhoods of the chunk is over. */
  arrived(address: Uint8Array): void {
    for (const neighbourhood of this.#troubled.keys()) {
      if (isIn(address, neighbourhood)) this.#troubled.delete(neighbourhood);
    }
  }

  /** Milliseconds until the first pause ends; undefined without any. */
  get endsInMs(): number | undefined {
    const now = this.#clock.monotonic();
    const left = [...this.#troubled.values()].map(({ until }) => until - now).filter((ms) => ms > 0);
    return left.length === 0 ? undefined : Math.min(...left);
  }

  /** Neighbourhoods that have not taken anything for a while. */
  list(): Pause[] {
    return [...this.#troubled.values()]
      .filter(({ pauseMs }) => pauseMs >= TOLD_MS)
      .map(({ neighbourhood, reason, since }) => ({ neighbourhood, reason, since }));
  }
}

function isIn(address: Uint8Array, neighbourhood: string): boolean {
  return addressPrefix(address, neighbourhood.length) === neighbourhood;
}
