/**
 * Limits how often an address is dialled in vain, whichever overlays claim it. A record costs its author nothing, and
 * may name the address of an uninvolved third party: without this limit, every node that hears of a hundred such
 * records dials a victim of the author's choice a hundred times.
 */
import type { Clock } from '../../formats/clock.ts';
import { RateLimits } from '../env/turns/rate-limit.ts';

/**
 * Dials in vain of one host and port: the six for a neighbour that is down and a few more, then one in twenty
 * seconds.
 */
export const TARGET_DIALS = { burst: 8, perSecond: 0.05 } as const;

export class DialTargets {
  readonly #limits: RateLimits;

  constructor(clock: Clock) {
    this.#limits = new RateLimits(TARGET_DIALS, clock);
  }

  /** The peer's underlays that may be dialled now. They count as dialled in vain until `reached` says otherwise. */
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
