import type { Clock } from '../env/clock.ts';

/** Tokens that come back with time. Who takes more than there are waits until they have come back. */
export class RateLimit {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** Below zero: taken in advance by those who wait. */
  #tokens: number;
  #at: number;

  constructor({ perSecond, burst }: { perSecond: number; burst: number }, clock: Clock) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#at = clock.monotonic();
  }

  /** Takes nothing when there are fewer. */
  tryTake(count: number): boolean {
    this.#refill();
    if (count > this.#tokens) return false;
    this.#tokens -= count;
    return true;
  }

  /** Resolves in the order of the calls. @throws the signal's reason; the tokens are given back then */
  async take(count: number, signal: AbortSignal): Promise<void> {
    this.#refill();
    this.#tokens -= count;
    if (this.#tokens >= 0) return;
    try {
      await this.#clock.sleep(Math.ceil(-this.#tokens / this.#perMs), signal);
    } catch (error) {
      this.#tokens += count;
      throw error;
    }
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs);
    this.#at = now;
  }
}
