/**
 * Limits vain dials of an address, whichever overlays claim it. A record costs nothing and may name a third party: otherwise
 * every node would dial a victim as often as there are such records.
 */
import type { Clock } from '../../formats/clock.ts';
import { RateLimits } from '../env/turns/rate-limit.ts';

/** Of one host and port: the six for a neighbour that is down and a few more, then one in twenty seconds. */
export const TARGET_DIALS = { burst: 8, perSecond: 0.05 } as const;

export class DialTargets {
  readonly #limits: RateLimits;

  constructor(clock: Clock) {
    this.#limits = new RateLimits(TARGET_DIALS, clock);
  }

  /** They count as vain until `reached` says otherwise. */
  take(underlays: readonly string[]): string[] {
    return underlays.filter((underlay) => this.#limits.of(targetOf(underlay)).tryTake(1));
  }

  reached(underlays: readonly string[]): void {
    for (const underlay of underlays) this.#limits.of(targetOf(underlay)).giveBack(1);
  }
}

function targetOf(underlay: string): string {
  const [, , host = '', , port = ''] = underlay.split('/');
  return `${host.toLowerCase()} ${port}`;
}
