/** Which addresses are dialled, and how. `p2p-protocols.md` 1.5. */
import type { Clock } from '../../../formats/clock.ts';
import {
  type CarrierName,
  DEFAULT_CARRIERS,
  fittingUnderlays,
  isDialable,
  isPrivate,
  peerIdOf,
} from '../address/underlay.ts';
import { HostError } from '../host.ts';
import type { Link, Transport } from '../transport.ts';
import { DialBreaker } from './dial-breaker.ts';

/** For one underlay, until the link is secured, and for a whole probe. */
const DIAL_TIMEOUT_MS = 15_000;

const FORMS: Readonly<Record<CarrierName, string>> = {
  tcp: '/ip4/…/tcp/PORT/p2p/PEER',
  ws: '/ip4/…/tcp/PORT/ws/p2p/PEER',
  wss: '/ip4/…/tcp/PORT/tls/sni/NAME/ws/p2p/PEER',
};

export interface DiallingOptions {
  /** Networks on one machine have no others. */
  readonly allowPrivateCidrs: boolean;
  readonly carriers?: readonly CarrierName[];
}

export interface DiallingDeps {
  readonly transport: Transport;
  readonly clock: Clock;
}

export class Dialling {
  readonly #options: DiallingOptions;
  readonly #deps: DiallingDeps;
  readonly #breaker = new DialBreaker();

  constructor(options: DiallingOptions, deps: DiallingDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Those that we can dial, in order; at least one. @throws HostError `UNDERLAY_INVALID`, `SELF_DIAL` */
  choose(underlays: readonly string[]): string[] {
    const supported = this.#supported(underlays);
    if (supported.length === 0) {
      const given = underlays.join(', ');
      const forms = (this.#options.carriers ?? DEFAULT_CARRIERS)
        .map((carrier) => FORMS[carrier])
        .join(' or ');
      const expected = `a public or allowed private ${forms}, also /ip6, /dns4, /dns6`;
      throw new HostError('UNDERLAY_INVALID', `no supported addresses: ${given}; expected ${expected}`);
    }
    const foreign = supported.filter((underlay) => peerIdOf(underlay) !== this.#deps.transport.localId);
    if (foreign.length === 0) throw new HostError('SELF_DIAL', 'cannot connect to self');
    return foreign;
  }

  /**
   * @param isGiven the node may still be starting: a failure says nothing about others
   * @throws HostError `DIAL_FAILED`, `DIAL_PAUSED`, others of the transport
   */
  async dial(underlay: string, signal: AbortSignal, isGiven = false): Promise<Link> {
    const { transport, clock } = this.#deps;
    this.#breaker.check(clock.monotonic());
    using deadline = clock.deadline(DIAL_TIMEOUT_MS, signal);
    try {
      const link = await transport.dial(underlay, deadline.signal);
      this.#breaker.succeeded();
      return link;
    } catch (cause) {
      const error = dialError(underlay, cause);
      if (error.code === 'DIAL_FAILED' && !signal.aborted && !isGiven)
        this.#breaker.failed(clock.monotonic());
      throw error;
    }
  }

  /** @returns ms @throws HostError `DIAL_FAILED`; the signal's reason */
  async probe(underlays: readonly string[], signal: AbortSignal): Promise<number> {
    const { clock, transport } = this.#deps;
    using deadline = clock.deadline(DIAL_TIMEOUT_MS, signal);
    let failure: unknown = new HostError('UNDERLAY_INVALID', 'no supported addresses');
    for (const underlay of fittingUnderlays(this.#supported(underlays))) {
      try {
        return await transport.probe(underlay, deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    throw new HostError('DIAL_FAILED', `not reachable: ${(failure as Error).message}`, { cause: failure });
  }

  #supported(underlays: readonly string[]): string[] {
    const { allowPrivateCidrs, carriers } = this.#options;
    return underlays.filter(
      (underlay) => isDialable(underlay, carriers) && (allowPrivateCidrs || !isPrivate(underlay)),
    );
  }
}

function dialError(underlay: string, cause: unknown): HostError {
  if (cause instanceof HostError) return cause;
  return new HostError('DIAL_FAILED', `cannot dial ${underlay}: ${(cause as Error).message}`, { cause });
}

/** No route, perhaps no network: says nothing about the peer. */
export function isUnreachable(error: unknown): boolean {
  return isNetworkUnreachable(error) || hasCode(error, 'EHOSTUNREACH');
}

/** Unreachable, and not because of that one host. */
export function isNetworkUnreachable(error: unknown): boolean {
  return hasCode(error, 'ENETUNREACH');
}

function hasCode(error: unknown, code: string): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === code) return true;
  }
  return false;
}
