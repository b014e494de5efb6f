import type { Clock } from '../../../formats/clock.ts';

/** A token bucket. A caller that takes more tokens than there are waits until they have been refilled. */
export class RateLimit {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #clock: Clock;
  /** Below zero: taken in advance by waiting callers. */
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

  /** Whether more was charged than was available: then `ready` waits. */
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

  /** Takes unconditionally, even tokens not yet there: `ready` waits for them. */
  charge(count: number): void {
    this.#refill();
    this.#tokens -= count;
  }

  /** Returns tokens taken in advance for something that does not count. */
  giveBack(count: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + count);
  }

  /** Resolves in the order of the calls. @throws the signal's reason; the tokens are then returned */
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

  /** Whether nothing is taken, or everything has been refilled. */
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

/** Default number of names remembered. */
const NAMES_MAX = 10_000;

/**
 * One limit per name, such as a peer's overlay or its address. A name is forgotten only once its limit is full again,
 * so that no peer refills it sooner by leaving and returning. Beyond `namesMax` the least recently used one is
 * dropped.
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

  /** Whether nothing is taken from this name's limit. */
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
