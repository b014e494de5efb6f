import { type AddressRecord, type Peer, StreamError } from './host.ts';
import type { Link } from './transport.ts';

/** One peer from its handshake to its disconnect. */
export interface Session {
  readonly peer: Peer;
  readonly record: AddressRecord;
  /** On which it introduced itself. */
  readonly link: Link;
  readonly remoteId: string;
  /** Aborts `peer.closed`. */
  readonly controller: AbortController;
  /** Inbound streams that are being served, per protocol id. */
  readonly serving: Map<string, number>;
}

/**
 * Who is who: overlay ↔ libp2p identity, and the links to each identity. An overlay stays bound to the identity that
 * introduced itself first; further links of that identity belong to the same session.
 */
export class Sessions {
  readonly #byOverlay = new Map<string, Session>();
  readonly #byRemoteId = new Map<string, Session>();
  readonly #links = new Map<string, Set<Link>>();

  addLink(link: Link): void {
    const links = this.#links.get(link.remoteId);
    if (links === undefined) this.#links.set(link.remoteId, new Set([link]));
    else links.add(link);
  }

  /** @returns the session that has lost its last link */
  removeLink(link: Link): Session | undefined {
    const links = this.#links.get(link.remoteId);
    if (links === undefined || !links.delete(link) || links.size > 0) return undefined;
    this.#links.delete(link.remoteId);
    return this.#byRemoteId.get(link.remoteId);
  }

  /** An open link to this identity, oldest first. */
  link(remoteId: string): Link | undefined {
    return this.#links.get(remoteId)?.values().next().value;
  }

  links(remoteId: string): Link[] {
    return [...(this.#links.get(remoteId) ?? [])];
  }

  /** False when the overlay or the identity is registered already. */
  register(session: Session): boolean {
    const { peer, remoteId } = session;
    if (this.#byOverlay.has(peer.id) || this.#byRemoteId.has(remoteId)) return false;
    this.#byOverlay.set(peer.id, session);
    this.#byRemoteId.set(remoteId, session);
    return true;
  }

  /** Forgets the session and aborts `peer.closed`. @returns false when it was gone already */
  remove(session: Session): boolean {
    if (this.#byOverlay.get(session.peer.id) !== session) return false;
    this.#byOverlay.delete(session.peer.id);
    this.#byRemoteId.delete(session.remoteId);
    session.controller.abort(new StreamError('STREAM_RESET', 'the peer is disconnected'));
    return true;
  }

  of(overlayHex: string): Session | undefined {
    return this.#byOverlay.get(overlayHex);
  }

  ofRemote(remoteId: string): Session | undefined {
    return this.#byRemoteId.get(remoteId);
  }

  all(): Session[] {
    return [...this.#byOverlay.values()];
  }
}
