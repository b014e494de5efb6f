/** Links kept: of strangers, of one peer, and of all together. */
import type { Clock } from '../../../formats/clock.ts';
import { StreamError } from '../host.ts';
import type { Link } from '../transport.ts';
import type { Refusals } from './refusals.ts';
import type { Session, Sessions } from './sessions.ts';
import { Strangers } from './strangers.ts';

/** A node that probes us takes at most a minute. */
const STRANGER_MAX_MS = 120_000;
/** Beyond it strangers are dropped, never a peer. */
export const LINKS_MAX = 1_500;
/** Two nodes that dial each other at once have two for a moment. */
export const LINKS_PER_PEER_MAX = 4;

export class LinkLimits {
  readonly #sessions: Sessions;
  readonly #deps: { readonly clock: Pick<Clock, 'timer'>; readonly refusals: Refusals };
  /** Inbound links of nodes that are not yet peers. */
  readonly #strangers = new Strangers<Link>();
  readonly #patience = new Map<Link, Disposable>();

  /** @param sessions all links; added to */
  constructor(
    sessions: Sessions,
    deps: { readonly clock: Pick<Clock, 'timer'>; readonly refusals: Refusals },
  ) {
    this.#sessions = sessions;
    this.#deps = deps;
  }

  opened(link: Link): void {
    this.#sessions.addLink(link);
    const session = this.#sessions.ofRemote(link.remoteId);
    if (session !== undefined) this.#limitLinks(session, link);
    else this.unknown(link);
    const oldest = this.#sessions.linkCount > LINKS_MAX ? this.#strangers.oldest() : undefined;
    if (oldest !== undefined) this.#turnAway(oldest);
  }

  /** The other end has not introduced itself, or its peer is gone. */
  unknown(link: Link): void {
    const leave = () => link.close(new StreamError('STREAM_RESET', 'no introduction'));
    this.#patience.set(link, this.#deps.clock.timer(STRANGER_MAX_MS, leave));
    // The dials bound our own links.
    const leaves = link.direction === 'inbound' ? this.#strangers.add(link, link.remoteAddress) : undefined;
    if (leaves !== undefined) this.#turnAway(leaves);
  }

  #turnAway(stranger: Link): void {
    const { remoteAddress: address } = stranger;
    // Strangers make up identities: one line for all.
    const detail = `${this.#sessions.linkCount} connections`;
    this.#deps.refusals.tell({ id: 'strangers', address }, { code: 'TOO_MANY_CONNECTIONS', detail });
    stranger.close(tooMany());
  }

  /** Replaces the oldest link that is neither this nor an introduced one. */
  #limitLinks(session: Session, newest: Link): void {
    const links = this.#sessions.links(session.remoteId);
    if (links.length <= LINKS_PER_PEER_MAX) return;
    const own = this.#sessions.linkOf(session);
    links.find((link) => link !== own && link !== newest)?.close(tooMany());
  }

  /** The other end is known, or has left. */
  known(link: Link): void {
    this.#strangers.delete(link);
    this.#patience.get(link)?.[Symbol.dispose]();
    this.#patience.delete(link);
  }
}

function tooMany(): StreamError {
  return new StreamError('STREAM_RESET', 'too many connections');
}
