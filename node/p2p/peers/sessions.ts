import { setMaxListeners } from 'node:events';
import type { Introduction } from '../handshake/rules.ts';
import { type AddressRecord, type Peer, StreamError } from '../host.ts';
import type { Link } from '../transport.ts';

/** One peer from its handshake to its disconnect. */
export interface Session {
  readonly peer: Peer;
  readonly record: AddressRecord;
  /** Open links on which it introduced itself; the session ends with the last. */
  readonly introduced: Set<Link>;
  readonly remoteId: string;
  readonly controller: AbortController;
  readonly serving: Map<string, number>;
  settled: boolean;
}

/** @param known what the introduction does not say */
export function newSession(
  link: Link,
  introduction: Introduction,
  known: Pick<Peer, 'overlayHex' | 'direction' | 'generation' | 'connectedAt'>,
): Session {
  const { record, ethereum, fullNode, underlays, welcomeMessage } = introduction;
  const controller = new AbortController();
  // Every stream of the peer adds a listener.
  setMaxListeners(0, controller.signal);
  const { overlay } = record;
  const told = { overlay, ethereum, fullNode, underlays, welcomeMessage };
  const { remoteAddress } = link;
  const peer = { ...known, ...told, remoteAddress, closed: controller.signal };
  const introduced = new Set([link]);
  return {
    peer,
    record,
    introduced,
    remoteId: link.remoteId,
    controller,
    serving: new Map(),
    settled: false,
  };
}

/**
 * Overlay ↔ libp2p identity, and the links to each identity. An overlay stays bound to the identity that came first; its
 * further links join the session. Only links with a handshake keep it a peer, because the other side may count no others.
 */
export class Sessions {
  readonly #byOverlay = new Map<string, Session>();
  readonly #byRemoteId = new Map<string, Session>();
  readonly #links = new Map<string, Set<Link>>();
  #linkCount = 0;

  get linkCount(): number {
    return this.#linkCount;
  }

  addLink(link: Link): void {
    this.#linkCount++;
    const links = this.#links.get(link.remoteId);
    if (links === undefined) this.#links.set(link.remoteId, new Set([link]));
    else links.add(link);
  }

  /** @returns the session that lost its last introduced link */
  removeLink(link: Link): Session | undefined {
    const links = this.#links.get(link.remoteId);
    if (links === undefined || !links.delete(link)) return undefined;
    this.#linkCount--;
    if (links.size === 0) this.#links.delete(link.remoteId);
    const session = this.#byRemoteId.get(link.remoteId);
    return session?.introduced.delete(link) === true && session.introduced.size === 0 ? session : undefined;
  }

  /** Oldest first. */
  link(remoteId: string): Link | undefined {
    return this.#links.get(remoteId)?.values().next().value;
  }

  /** The oldest one on which the other side certainly knows us. */
  linkOf({ introduced }: Session): Link | undefined {
    return introduced.values().next().value;
  }

  links(remoteId: string): Link[] {
    return [...(this.#links.get(remoteId) ?? [])];
  }

  /** @returns the session that has this overlay or identity; then nothing changes */
  register(session: Session): Session | undefined {
    const { peer, remoteId } = session;
    const known = this.#byOverlay.get(peer.overlayHex) ?? this.#byRemoteId.get(remoteId);
    if (known !== undefined) {
      if (known.remoteId === remoteId) for (const link of session.introduced) known.introduced.add(link);
      return known;
    }
    this.#byOverlay.set(peer.overlayHex, session);
    this.#byRemoteId.set(remoteId, session);
    return undefined;
  }

  /** Aborts `peer.closed`. @returns false when it was gone already */
  remove(session: Session): boolean {
    if (this.#byOverlay.get(session.peer.overlayHex) !== session) return false;
    this.#byOverlay.delete(session.peer.overlayHex);
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
