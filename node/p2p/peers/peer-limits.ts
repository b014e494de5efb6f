/**
 * One budget per peer and one per address, kept across connections: a new overlay is free. A whole network may be behind a
 * private address.
 */
import type { Clock } from '../../../formats/clock.ts';
import { type RateLimit, RateLimits } from '../../env/turns/rate-limit.ts';
import { isPrivate } from '../address/underlay.ts';
import type { Peer } from '../host.ts';
import { sourceOf } from './connection-gate.ts';

interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface PeerRates {
  readonly peer: Rate;
  readonly source: Rate;
  readonly nearby: Rate;
}

type Whose = Pick<Peer, 'overlayHex' | 'remoteAddress'>;

export class PeerLimits {
  readonly #peers: RateLimits;
  readonly #sources: RateLimits;
  readonly #nearby: RateLimits;

  constructor({ peer, source, nearby }: PeerRates, clock: Clock) {
    this.#peers = new RateLimits(peer, clock);
    this.#sources = new RateLimits(source, clock);
    this.#nearby = new RateLimits(nearby, clock);
  }

  /** @returns false when the peer or its address has too little; then nothing is taken */
  tryTake(whose: Whose, count: number): boolean {
    const own = this.#peers.of(whose.overlayHex);
    if (!own.tryTake(count)) return false;
    if (this.#ofSource(whose).tryTake(count)) return true;
    own.giveBack(count);
    return false;
  }

  /** Takes unconditionally: `ready` waits for the shortfall. */
  charge(whose: Whose, count: number): void {
    this.#peers.of(whose.overlayHex).charge(count);
    this.#ofSource(whose).charge(count);
  }

  /** Resolves when neither owes; undefined: now. @throws the signal's reason */
  ready(whose: Whose, signal: AbortSignal): Promise<void> | undefined {
    const limits = [this.#peers.of(whose.overlayHex), this.#ofSource(whose)];
    return limits.some((limit) => limit.owes()) ? allReady(limits, signal) : undefined;
  }

  #ofSource({ remoteAddress }: Whose): RateLimit {
    return (isPrivate(remoteAddress) ? this.#nearby : this.#sources).of(sourceOf(remoteAddress));
  }
}

async function allReady(limits: readonly RateLimit[], signal: AbortSignal): Promise<void> {
  for (const limit of limits) await limit.ready(signal);
}
