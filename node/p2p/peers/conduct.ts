/**
 * Tracks peers that send what no honest node sends. A few cases may be due to a bad disk; more are a flood that costs hashes
 * and signatures. Counted by overlay and by source address, since overlays are free; only a fault of its own disconnects a
 * peer.
 */
import type { Clock } from '../../../formats/clock.ts';
import { RateLimits } from '../../env/turns/rate-limit.ts';
import { isPrivate } from '../address/underlay.ts';
import type { Peer } from '../host.ts';
import { sourceOf } from './connection-gate.ts';

/** One in ten seconds in the long run. */
export const FAULTS = { burst: 16, perSecond: 0.1 } as const;
/** Faults of all peers of one address together. */
export const SOURCE_FAULTS = { burst: 64, perSecond: 0.4 } as const;
/** Refusal of such a peer, ms. */
export const MISCONDUCT_MS = 10 * 60_000;

type Whose = Pick<Peer, 'overlayHex' | 'remoteAddress'>;

export class Conduct {
  readonly #peers: RateLimits;
  readonly #sources: RateLimits;

  constructor(clock: Clock) {
    this.#peers = new RateLimits(FAULTS, clock);
    this.#sources = new RateLimits(SOURCE_FAULTS, clock);
  }

  /** Counts one fault. @returns false when it was one too many */
  bears({ overlayHex, remoteAddress }: Whose, weight: number): boolean {
    const peer = this.#peers.of(overlayHex).tryTake(weight);
    const source = this.#sources.of(sourceOf(remoteAddress)).tryTake(weight);
    return peer && source;
  }

  /** Too many nodes share a private address to suspect them all. */
  isSuspect({ overlayHex, remoteAddress }: Whose): boolean {
    return (
      !this.#peers.isFull(overlayHex) ||
      (!isPrivate(remoteAddress) && !this.#sources.isFull(sourceOf(remoteAddress)))
    );
  }
}
