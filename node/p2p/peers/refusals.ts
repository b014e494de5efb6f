/**
 * Tells the operator why peers are refused. Strangers decide how often, so there is one line per peer and reason in ten
 * minutes, and a limited number in all. The next line counts those left out.
 */
import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import { RateLimit, RateLimits } from '../../env/turns/rate-limit.ts';

const ONE_PEER = { perSecond: 1 / 600, burst: 1, namesMax: 1_000 } as const;
const ALL_PEERS = { perSecond: 1 / 6, burst: 20 } as const;

/** Reason → what an operator can do. A full bin or a blocklisted peer is not told. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['NETWORK_ID_INCOMPATIBLE', 'it belongs to another network: compare the option network-id of both nodes'],
  ['TIMESTAMP_IN_FUTURE', 'its clock is ahead of the clock of this node: check both'],
  ['TIMESTAMP_NOT_NEWER', 'its record is older than the one known here: its data may be an old copy'],
  ['TIMESTAMP_NOT_POSITIVE', 'its record has no time'],
  ['RECORD_INVALID', 'its record or the signature of it is not valid'],
  ['PEER_ID_MISMATCH', 'its record or its answer names another libp2p identity'],
  ['SYN_INVALID', 'its handshake is not valid'],
  ['ACK_INVALID', 'its handshake is not valid'],
  ['MESSAGE_MALFORMED', 'its handshake cannot be read'],
  ['PEER_NOT_ALLOWED', 'this node takes only the peers that it was given'],
  ['TOO_MANY_CONNECTIONS', 'connections that introduce nobody are ended to leave room for others'],
  [
    'TOO_MANY_OF_SOURCE',
    'more connections of one address than a node takes: nodes behind one router share the limit',
  ],
  [
    'THRESHOLD_TOO_LOW',
    'it lets this node owe it too little: compare the option payment-threshold of both nodes',
  ],
]);

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

export interface Refusal {
  /** Stable, such as an error's code. */
  readonly code: string;
  /** Nothing that the peer has written. */
  readonly detail: string;
}

export class Refusals {
  readonly #log: Logger;
  readonly #each: RateLimits;
  readonly #all: RateLimit;
  #leftOut = 0;

  constructor({ clock, log }: { clock: Clock; log: Logger }) {
    this.#log = log;
    this.#each = new RateLimits(ONE_PEER, clock);
    this.#all = new RateLimit(ALL_PEERS, clock);
  }

  /** @param peer where it is, and who it says it is */
  tell(peer: { readonly id: string; readonly address: string }, { code, detail }: Refusal): void {
    const hint = HINTS.get(code);
    if (hint === undefined) return;
    const key = `${peer.id} ${code}`;
    if (!this.#each.isFull(key) || !this.#all.tryTake(1)) {
      this.#leftOut++;
      return;
    }
    this.#each.of(key).tryTake(1);
    const leftOut = this.#leftOut === 0 ? {} : { leftOut: this.#leftOut };
    this.#leftOut = 0;
    const { id, address } = peer;
    this.#log.info({ remote: id, address, reason: code, detail, hint, ...leftOut }, 'peer refused');
  }
}
