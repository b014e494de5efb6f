/** Stops dialling for a while when nothing can be reached. `p2p-protocols.md` 1.5. */
import { HostError } from '../host.ts';

/** Failures in a row before dialling pauses. */
export const FAILURES_MAX = 100;
const FAILURES_WITHIN_MS = 30 * 60_000;
/** Each further pause takes twice as long. */
const PAUSE_MIN_MS = 2 * 60_000;
const PAUSE_MAX_MS = 60 * 60_000;

/** All times: one monotonic clock, ms. */
export class DialBreaker {
  #failures = 0;
  #firstFailureAt = 0;
  #pausedUntil: number | undefined;
  #pauseMs = PAUSE_MIN_MS;

  /** @throws HostError `DIAL_PAUSED` with the remaining time */
  check(nowMs: number): void {
    if (this.#pausedUntil !== undefined) {
      const retryAfterMs = this.#pausedUntil - nowMs;
      if (retryAfterMs > 0) {
        throw new HostError(
          'DIAL_PAUSED',
          `no dials for ${Math.ceil(retryAfterMs / 1000)} s: all have failed`,
          {
            retryAfterMs,
          },
        );
      }
      this.#pausedUntil = undefined;
      this.#failures = 0;
      this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MAX_MS);
    }
    if (this.#failures > 0 && nowMs - this.#firstFailureAt >= FAILURES_WITHIN_MS) this.#failures = 0;
  }

  failed(nowMs: number): void {
    if (this.#failures === 0) this.#firstFailureAt = nowMs;
    this.#failures++;
    // Dials already running do not prolong the pause.
    if (this.#failures === FAILURES_MAX) this.#pausedUntil = nowMs + this.#pauseMs;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pausedUntil = undefined;
  }
}
