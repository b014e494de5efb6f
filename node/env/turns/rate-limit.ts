import type { Clock } from '../../../formats/clock.ts';

/** A token bucket: who takes too many waits for the refill. */
export class RateLimit {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** Below zero: taken in advance. */
  #tokens: number;
  #at: number;

  constructor({ perSecond, burst }: { perSecond: number; burst: number }, clock: Clock) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#at = clock.monotonic();
  }

  tryTake(count: number): boolean {
    this.#refill();
    if (count > this.#tokens) return false;
    this.#tokens -= count;
    return true;
  }

  owes(): boolean {
    this.#refill();
    return this.#tokens < 0;
  }

  /** Resolves when nothing is owed. @throws the signal's reason */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.owes()) {
      await this.#clock.sleep(Math.ceil(-this.#tokens / this.#perMs), signal);
    }
  }

  /** Even tokens not yet there: `ready` waits for them. */
  charge(count: number): void {
    this.#refill();
    this.#tokens -= count;
  }

  /** Returns tokens of something that does not count. */
  giveBack(count: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + count);
  }

  /** In the order of the calls. @throws the signal's reason; the tokens are then returned */
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

  /** Everything is refilled. */
  isFull(): boolean {
    this.#refill();
    return this.#tokens === this.#burst;
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs);
    this.#at = now;
  }
}

const NAMES_MAX = 10_000;

/**
 * One limit per name, such as an overlay. A name is forgotten only once its limit is full, so that no peer refills it by
 * returning. Beyond `namesMax` the least recently used is dropped.
 */
export class RateLimits {
  readonly #limit: { readonly perSecond: number; readonly burst: number };
  readonly #namesMax: number;
  readonly #clock: Clock;
  /** Least recently used first. */
  readonly #limits = new Map<string, RateLimit>();

  constructor(
    { namesMax = NAMES_MAX, ...limit }: { perSecond: number; burst: number; namesMax?: number },
    clock: Clock,
  ) {
    this.#limit = limit;
    this.#namesMax = namesMax;
    this.#clock = clock;
  }

  of(name: string): RateLimit {
    const limit = this.#limits.get(name) ?? new RateLimit(this.#limit, this.#clock);
    this.#limits.delete(name);
    this.#limits.set(name, limit);
    if (this.#limits.size > this.#namesMax) this.#forget(name);
    return limit;
  }

  isFull(name: string): boolean {
    return this.#limits.get(name)?.isFull() ?? true;
  }

  #forget(newest: string): void {
    for (const [name, limit] of this.#limits) {
      if (name !== newest && limit.isFull()) this.#limits.delete(name);
    }
    if (this.#limits.size > this.#namesMax) this.#limits.delete(this.#limits.keys().next().value as string);
  }
}
