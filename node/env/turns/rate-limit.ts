import type { Clock } from '../clock.ts';

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

  /** Whether more was charged than there was: then `ready` waits. */
  owes(): boolean {
    this.#refill();
    return this.#tokens < 0;
  }

  /** Resolves when nothing is owed, and takes nothing. @throws the signal's reason */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.owes()) {
      await this.#clock.sleep(Math.ceil(-this.#tokens / this.#perMs), signal);
    }
  }

  /** Takes in any case, also what is not there yet: `ready` waits for it. */
  charge(count: number): void {
    this.#refill();
    this.#tokens -= count;
  }

  /** What was taken in advance for something that does not count. */
  giveBack(count: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + count);
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

  /** Nothing is taken, or everything has come back. */
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

/** Names that are remembered when none is given. */
const NAMES_MAX = 10_000;

/**
 * One limit per name, such as a peer's overlay or its address. A name is forgotten only once it has everything back, so
 * that nobody gets it back sooner by going and coming again. Beyond `namesMax` the one that was asked for longest ago goes.
 */
export class RateLimits {
  readonly #limit: { readonly perSecond: number; readonly burst: number };
  readonly #namesMax: number;
  readonly #clock: Clock;
  /** Least recently asked for first. */
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

  /** Nothing is taken of this name's. */
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
