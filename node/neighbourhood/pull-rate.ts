import type { Clock } from '../../formats/clock.ts';

/**
 * Chunks per second over about the last window: the running window's count, plus the reachable part of the one before.
 * Windows are aligned to the unix epoch at the start (`p2p-protocols.md` 7.3), then monotonic: a set clock would end them
 * all, and a rate of 0 says that nothing is left to pull. It falls to 0 one to two windows after the last chunk.
 */
export class PullRate {
  readonly #windowMs: number;
  readonly #clock: Clock;
  /** Between wall clock and monotonic one, ms. */
  readonly #epoch: number;
  #window = 0;
  #current = 0;
  #previous = 0;

  constructor(windowMs: number, clock: Clock) {
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#epoch = clock.now() - clock.monotonic();
  }

  add(count: number): void {
    this.#turn();
    this.#current += count;
  }

  perSecond(): number {
    const elapsed = this.#turn();
    return (this.#current + (1 - elapsed) * this.#previous) / (this.#windowMs / 1000);
  }

  /** @returns elapsed part of the window, 0..1 */
  #turn(): number {
    const now = this.#epoch + this.#clock.monotonic();
    const window = Math.floor(now / this.#windowMs);
    if (window !== this.#window) {
      this.#previous = window === this.#window + 1 ? this.#current : 0;
      this.#current = 0;
      this.#window = window;
    }
    return (now % this.#windowMs) / this.#windowMs;
  }
}
