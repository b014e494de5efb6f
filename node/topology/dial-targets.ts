/**
 * Limits vain dials per address, whatever overlays claim it: records are free and may name a third party, whom every
 * node would dial for each record.
 */
import type { Clock } from '../../formats/clock.ts';
import { RateLimits } from '../env/turns/rate-limit.ts';

/** Vain dials of a host and port: six for a neighbour that is down and a few more, then one in twenty seconds. */
export const TARGET_DIALS = { burst: 8, perSecond: 0.05 } as const;

export class DialTargets {
  readonly #limits: RateLimits;

  constructor(clock: Clock) {
    this.#limits = new RateLimits(TARGET_DIALS, clock);
  }

  /** The underlays to dial now; in vain until `reached` says otherwise. */
  take(underlays: readonly string[]): string[] {
    return underlays.filter((underlay) => this.#limits.of(targetOf(underlay)).tryTake(1));
  }

  reached(underlays: readonly string[]): void {
    for (const underlay of underlays) this.#limits.of(targetOf(underlay)).giveBack(1);
  }
}

/** Host and port. */
function targetOf(underlay: string): string {
  const [, , host = '', , port = ''] = underlay.split('/');
  return `${host.toLowerCase()} ${port}`;
}
