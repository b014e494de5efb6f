/**
 * The `Host` above any transport. `p2p-protocols.md` 1.5 and 4.1.
 *
 * Order of events for a new peer, on both sides: record validated → registered (its streams are served from here on) →
 * handshake stream closed → address book → connect hooks → listeners. An error after the registration disconnects.
 */
import { setMaxListeners } from 'node:events';
import { toHex } from '../../formats/crypto/hex.ts';
import { overlayAddress } from '../../formats/crypto/overlay.ts';
import { abortable } from '../env/abortable.ts';
import type { MetricsOf } from '../env/metrics.ts';
import { OwnRecord } from './address/own-record.ts';
import { peerIdOf, withoutLoopback, withoutPeerId, withPeerId } from './address/underlay.ts';
import { createHandshake, HANDSHAKE_TIMEOUT_MS, type Handshake } from './handshake/handshake.ts';
import type { Introduction } from './handshake/rules.ts';
import { HANDSHAKE_DIALECTS, type HandshakeDialect, WELCOME_BYTES_MAX } from './handshake/wire.ts';
import {
  type BlocklistEntry,
  type ConnectHook,
  type Generation,
  type HeadersAnswer,
  type Host,
  HostError,
  type MessageStream,
  type NetworkStatus,
  type Peer,
  type ProtocolHandler,
  type ProtocolSpec,
  StreamError,
} from './host.ts';
import type { PeerHostDeps, PeerHostOptions } from './host-options.ts';
import { HANDSHAKE_METRICS, P2P_METRICS } from './metrics.ts';
import { Blocklist } from './peers/blocklist.ts';
import { Conduct, MISCONDUCT_MS } from './peers/conduct.ts';
import { Dialling, isNetworkUnreachable, isUnreachable } from './peers/dialling.ts';
import { LinkLimits } from './peers/link-limits.ts';
import { type OpenOptions, PeerStreams } from './peers/peer-streams.ts';
import { servedFor } from './peers/protocol-versions.ts';
import { codeOf, Refusals } from './peers/refusals.ts';
import { newSession, type Session, Sessions } from './peers/sessions.ts';
import { FramedStream } from './stream/framed-stream.ts';
import type { Link, LinkEvents, RawStream } from './transport.ts';

interface Registration {
  /** The new session, or the existing one. */
  readonly session: Session;
  readonly isNew: boolean;
}

export function createPeerHost(options: PeerHostOptions, deps: PeerHostDeps): Host {
  return new PeerHost(options, deps);
}

class PeerHost implements Host {
  readonly overlay: Uint8Array;
  readonly #deps: PeerHostDeps;
  readonly #sessions = new Sessions();
  readonly #blocklist: Blocklist;
  readonly #conduct: Conduct;
  readonly #refusals: Refusals;
  readonly #dialling: Dialling;
  readonly #links: LinkLimits;
  readonly #ownRecord: OwnRecord;
  readonly #handshake: Handshake;
  readonly #dialects: readonly HandshakeDialect[];
  readonly #streams: PeerStreams;
  readonly #allowed: ReadonlySet<string | undefined>;
  readonly #configured: ReadonlySet<string>;
  readonly #listensAt: (remoteId: string) => readonly string[] | undefined;
  readonly #metrics: MetricsOf<typeof P2P_METRICS>;
  readonly #hooks: ConnectHook[] = [];
  readonly #onConnected: ((peer: Peer) => void)[] = [];
  readonly #onDisconnected: ((peer: Peer, reason: string) => void)[] = [];
  readonly #stopped = new AbortController();
  #picker: (overlay: Uint8Array, fullNode: boolean) => boolean = () => true;
  #welcomeMessage = '';
  #networkStatus: NetworkStatus = 'Unknown';

  constructor(options: PeerHostOptions, deps: PeerHostDeps) {
    const { networkId, fullNode, nonce } = options;
    this.overlay = overlayAddress(deps.signer.address, networkId, nonce);
    this.#deps = deps;
    const { generations } = options;
    this.#dialling = new Dialling(options, deps);
    this.#configured = new Set(options.configured);
    this.#listensAt = options.listensAt ?? (() => undefined);
    this.#allowed = new Set(options.onlyPeers?.map((address) => peerIdOf(address)));
    this.#dialects = HANDSHAKE_DIALECTS.filter(({ generation }) => generations?.includes(generation) ?? true);
    this.#blocklist = new Blocklist(deps);
    this.#conduct = new Conduct(deps.clock);
    this.#refusals = new Refusals(deps);
    this.#links = new LinkLimits(this.#sessions, { clock: deps.clock, refusals: this.#refusals });
    const { chequebook, givenRecord: given } = options;
    this.#ownRecord = new OwnRecord(
      { signer: deps.signer, networkId, nonce },
      { ...deps, chequebook, given },
    );
    this.#metrics = deps.metrics.register(P2P_METRICS);
    this.#streams = new PeerStreams(this.#sessions, { ...deps, metrics: this.#metrics });
    this.setWelcomeMessage(options.welcomeMessage);
    setMaxListeners(0, this.#stopped.signal);
    this.#handshake = createHandshake(
      { networkId, fullNode, localId: deps.transport.localId },
      {
        clock: deps.clock,
        ownRecord: (generation) => this.#ownRecord.current(withoutLoopback(this.underlays()), generation),
        welcomeMessage: () => this.#welcomeMessage,
        stored: (overlay) => deps.addressBook.get(toHex(overlay)),
        picks: (overlay, full) => this.#picker(overlay, full),
        metrics: deps.metrics.register(HANDSHAKE_METRICS),
      },
    );
  }

  underlays(): string[] {
    const { transport } = this.#deps;
    return transport.addresses().map((address) => withPeerId(address, transport.localId));
  }

  handle(spec: ProtocolSpec, handler: ProtocolHandler, answer?: HeadersAnswer): void {
    this.#streams.handle(spec, handler, answer);
  }

  async start(): Promise<void> {
    const dialects = new Map<string, HandshakeDialect>(
      this.#dialects.map((dialect) => [dialect.id, dialect]),
    );
    const dialectOf = (proposed: string) => dialects.get(servedFor(proposed, dialects.keys()) ?? '');
    const events: LinkEvents = {
      supports: (protocolId) => this.#streams.supports(protocolId) || dialectOf(protocolId) !== undefined,
      protocolIds: () => [...dialects.keys(), ...this.#streams.protocolIds()],
      opened: (link) => this.#links.opened(link),
      closed: (link) => {
        this.#links.known(link);
        const orphan = this.#sessions.removeLink(link);
        if (orphan === undefined) return;
        this.#end(orphan, 'connection closed');
        for (const other of this.#sessions.links(link.remoteId)) this.#links.unknown(other);
      },
      accepted: (link, protocolId, raw) => {
        const dialect = this.#streams.supports(protocolId) ? undefined : dialectOf(protocolId);
        if (dialect === undefined) this.#streams.accept(link, protocolId, raw);
        else void this.#answer(link, dialect, raw);
      },
    };
    await this.#deps.transport.start(events);
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new HostError('HOST_CLOSED', 'the host is closed'));
    for (const session of this.#sessions.all()) this.#end(session, 'the host is closed');
    await this.#deps.transport.stop();
  }

  // ── introductions ─────────────────────────────────────────────────────────────────────────────────────────────────

  async connect(underlays: readonly string[], signal: AbortSignal): Promise<Peer> {
    const bounded = AbortSignal.any([signal, this.#stopped.signal]);
    let failure: unknown;
    for (const underlay of this.#dialling.choose(underlays)) {
      bounded.throwIfAborted();
      try {
        const peer =
          this.#connectedAt(peerIdOf(underlay), underlay) ?? (await this.#reach(underlay, bounded));
        this.#networkStatus = 'Available';
        return peer;
      } catch (error) {
        bounded.throwIfAborted();
        if (this.#saysNoNetwork(error, underlay)) this.#networkStatus = 'Unavailable';
        const transient = error instanceof HostError && error.code === 'DIAL_FAILED';
        if (!transient) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /**
   * Whether a failed dial shows that the machine has no network. While peers are connected, it takes more than one missing
   * host, and an address kind that a peer uses: many machines have IPv4 only.
   */
  #saysNoNetwork(error: unknown, underlay: string): boolean {
    const sessions = this.#sessions.all();
    if (sessions.length === 0) return isUnreachable(error);
    const [, kind] = underlay.split('/');
    const isUsed = sessions.some(({ peer }) => peer.remoteAddress.startsWith(`/${kind}/`));
    return isUsed && isNetworkUnreachable(error);
  }

  /**
   * As on the public network, a peer that dialled us is simply returned. @throws HostError `ALREADY_CONNECTED` for an
   * address dialled twice
   */
  #connectedAt(remoteId: string | undefined, underlay: string): Peer | undefined {
    const session = remoteId === undefined ? undefined : this.#sessions.ofRemote(remoteId);
    if (session === undefined) return undefined;
    const address = withoutPeerId(underlay);
    if (this.#sessions.links(session.remoteId).some(({ remoteAddress }) => remoteAddress === address)) {
      throw new HostError('ALREADY_CONNECTED', `already connected to ${session.peer.overlayHex}`);
    }
    return session.peer;
  }

  /** Dials a node that is not yet a peer. */
  async #reach(underlay: string, signal: AbortSignal): Promise<Peer> {
    const remoteId = peerIdOf(underlay);
    const open = remoteId === undefined ? undefined : this.#sessions.link(remoteId);
    if (open !== undefined) return this.#introduce(open, underlay, signal);
    const isGiven =
      this.#configured.has(underlay) || (remoteId !== undefined && this.#listensAt(remoteId) !== undefined);
    const link = await this.#dialling.dial(underlay, signal, isGiven);
    const session = this.#sessions.ofRemote(link.remoteId);
    if (session === undefined) return this.#introduce(link, underlay, signal);
    // Only now is the node known: the earlier link is enough.
    link.close(new StreamError('STREAM_RESET', 'connected already'));
    return this.#connectedAt(link.remoteId, underlay) ?? session.peer;
  }

  probe(underlays: readonly string[], signal: AbortSignal): Promise<number> {
    return this.#dialling.probe(underlays, AbortSignal.any([signal, this.#stopped.signal]));
  }

  async #introduce(link: Link, underlay: string, signal: AbortSignal): Promise<Peer> {
    using deadline = this.#deps.clock.deadline(HANDSHAKE_TIMEOUT_MS, signal);
    const { generation, stream } = await this.#negotiate(link, deadline.signal);
    const seen = { remoteId: link.remoteId, addresses: [underlay] };
    const guarded = { link, stream, signal: deadline.signal };
    const { session, isNew } = await this.#guard(guarded, { direction: 'outbound', generation }, (register) =>
      this.#handshake.introduce(stream, generation, seen, (introduction) => {
        if (!introduction.fullNode) throw new HostError('PEER_IS_LIGHT', 'target peer is a light node');
        return register(introduction);
      }),
    );
    if (isNew) {
      await this.#settle(session, stream, signal);
      this.#metrics.created.inc();
      return session.peer;
    }
    // Bound to another identity: streams on this link would be reset.
    if (session.remoteId !== link.remoteId) link.close(new StreamError('STREAM_RESET', 'connected already'));
    return session.peer;
  }

  async #negotiate(
    link: Link,
    signal: AbortSignal,
  ): Promise<{ generation: Generation; stream: FramedStream }> {
    const { clock } = this.#deps;
    try {
      const ids = this.#dialects.map(({ id }) => id);
      const { protocolId, stream: raw } = await link.negotiate(ids, signal);
      const { generation } = this.#dialects.find(({ id }) => id === protocolId) as HandshakeDialect;
      return { generation, stream: new FramedStream(raw, { clock, signal }) };
    } catch (cause) {
      if (this.#sessions.ofRemote(link.remoteId)?.introduced.has(link) !== true) link.close(cause as Error);
      throw new HostError('HANDSHAKE_FAILED', `handshake: ${(cause as Error).message}`, { cause });
    }
  }

  /** Accepting side. Errors end the connection, which is all the other side sees. */
  async #answer(link: Link, { generation }: HandshakeDialect, raw: RawStream): Promise<void> {
    const { clock, log } = this.#deps;
    using deadline = clock.deadline(HANDSHAKE_TIMEOUT_MS, this.#stopped.signal);
    const { signal } = deadline;
    const stream = new FramedStream(raw, { clock, signal });
    const { remoteId } = link;
    const seen = async () => ({
      remoteId,
      addresses: this.#listensAt(remoteId) ?? (await link.listenAddresses(signal)),
    });
    try {
      const how = { direction: 'inbound', generation } as const;
      const { session, isNew } = await this.#guard({ link, stream, signal }, how, (register) =>
        this.#handshake.answer(stream, generation, seen, register),
      );
      if (isNew) {
        await this.#settle(session, stream, this.#stopped.signal);
        this.#networkStatus = 'Available';
        this.#metrics.handled.inc();
      }
    } catch (error) {
      log.debug({ err: error, remote: link.remoteId }, 'inbound handshake failed');
    }
  }

  /**
   * Runs one side of the handshake. A failure resets the stream. It ends the peer that this exchange has made; otherwise it
   * ends the link, unless the peer introduced itself on it in another exchange. The stream of a new peer is left open.
   */
  async #guard(
    { link, stream, signal }: { link: Link; stream: FramedStream; signal: AbortSignal },
    how: Pick<Peer, 'direction' | 'generation'>,
    exchange: (register: (introduction: Introduction) => Registration) => Promise<Registration>,
  ): Promise<Registration> {
    const isIntroduced = () => this.#sessions.ofRemote(link.remoteId)?.introduced.has(link) === true;
    const own: { made?: Registration; isFirst: boolean } = { isFirst: true };
    try {
      const registration = await exchange((introduction) => {
        own.isFirst = !isIntroduced();
        own.made = this.#register(link, introduction, how);
        return own.made;
      });
      if (!registration.isNew) await abortable(stream.close(), signal);
      return registration;
    } catch (cause) {
      stream.reset(cause as Error);
      this.#refusals.tell(
        { id: link.remoteId, address: link.remoteAddress },
        { code: codeOf(cause), detail: (cause as Error).message },
      );
      const { made, isFirst } = own;
      if (made?.isNew === true) this.#close(made.session, 'handshake failed');
      else if (made === undefined ? !isIntroduced() : isFirst) link.close(cause as Error);
      if (cause instanceof HostError) throw cause;
      throw new HostError('HANDSHAKE_FAILED', `handshake: ${(cause as Error).message}`, { cause });
    }
  }

  /** A handshake of a registered overlay or identity changes nothing. @throws HostError when the peer is refused */
  #register(
    link: Link,
    introduction: Introduction,
    how: Pick<Peer, 'direction' | 'generation'>,
  ): Registration {
    const overlayHex = toHex(introduction.record.overlay);
    if (overlayHex === toHex(this.overlay)) throw new HostError('SELF_DIAL', 'the peer has our own overlay');
    if (this.#allowed.size > 0 && !this.#allowed.has(link.remoteId)) {
      throw new HostError('PEER_NOT_ALLOWED', 'this node takes no other peers than those it was given');
    }
    if (this.#blocklist.has(overlayHex)) throw new HostError('PEER_BLOCKLISTED', 'peer blocklisted');
    // If the link ended while its last bytes were read, nothing would remove the peer.
    if (!this.#sessions.links(link.remoteId).includes(link)) {
      throw new HostError('HANDSHAKE_FAILED', 'the connection is gone');
    }
    const connectedAt = this.#deps.clock.monotonic();
    const session = newSession(link, introduction, { ...how, overlayHex, connectedAt });
    const known = this.#sessions.register(session);
    if ((known ?? session).remoteId === link.remoteId) {
      for (const one of this.#sessions.links(link.remoteId)) this.#links.known(one);
    }
    return known === undefined ? { session, isNew: true } : { session: known, isNew: false };
  }

  /** A failure disconnects the peer. */
  async #settle(session: Session, stream: FramedStream, signal: AbortSignal): Promise<void> {
    const { peer } = session;
    try {
      await abortable(stream.close(), signal);
      if (peer.fullNode) await this.#remember(session);
      const lifetime = AbortSignal.any([signal, peer.closed]);
      for (const hook of this.#hooks) await hook(peer, lifetime);
      peer.closed.throwIfAborted();
    } catch (cause) {
      this.#close(session, 'connect hook failed');
      if (cause instanceof HostError) throw cause;
      throw new HostError('HANDSHAKE_FAILED', `after the handshake: ${(cause as Error).message}`, { cause });
    }
    session.settled = true;
    for (const listener of this.#onConnected) listener(peer);
  }

  /** The address book writes it at a later introduction if it fails now. */
  async #remember({ peer, record }: Session): Promise<void> {
    const { addressBook, log } = this.#deps;
    try {
      await addressBook.put(record);
    } catch (error) {
      log.warn({ err: error, peer: peer.overlayHex }, 'the record of a peer could not be written');
    }
  }

  open(peer: Peer, protocolId: string, options: OpenOptions): Promise<MessageStream> {
    return this.#streams.open(peer, protocolId, options);
  }

  // ── peers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  networkStatus(): NetworkStatus {
    return this.#networkStatus;
  }

  peer(overlayHex: string): Peer | undefined {
    return this.#sessions.of(overlayHex)?.peer;
  }

  peers(): Peer[] {
    return this.#sessions.all().flatMap(({ peer, settled }) => (settled ? [peer] : []));
  }

  async disconnect(overlayHex: string, reason: string): Promise<void> {
    const session = this.#sessions.of(overlayHex);
    if (session === undefined) throw new HostError('PEER_NOT_FOUND', `peer ${overlayHex} is not connected`);
    this.#close(session, reason);
  }

  async blocklist(overlayHex: string, durationMs: number, reason: string): Promise<void> {
    if (this.#networkStatus !== 'Available') {
      throw new HostError('NETWORK_UNAVAILABLE', 'cannot blocklist peer when network not available');
    }
    const session = this.#sessions.of(overlayHex);
    const fullNode = session?.peer.fullNode ?? true;
    const added = this.#blocklist.add({ overlay: overlayHex, fullNode, reason, durationMs });
    this.#metrics.blocklisted.inc();
    if (session !== undefined) this.#close(session, reason);
    try {
      await added;
    } catch (error) {
      this.#metrics.blocklistErrors.inc();
      throw error;
    }
  }

  misbehaved(peer: Peer, what: string, weight = 1): void {
    const { log } = this.#deps;
    log.debug({ peer: peer.overlayHex, what }, 'peer misbehaves');
    if (this.#conduct.bears(peer, weight)) return;
    const session = this.#sessions.of(peer.overlayHex);
    if (session?.peer !== peer) return;
    const reason = `misbehaves: ${what}`;
    log.info(
      { peer: peer.overlayHex, address: peer.remoteAddress, what },
      'peer refused for a while: it misbehaves',
    );
    this.blocklist(peer.overlayHex, MISCONDUCT_MS, reason).catch((err: unknown) => {
      log.warn({ err, peer: peer.overlayHex }, 'peer could not be blocklisted');
      this.#close(session, reason);
    });
  }

  isSuspect(peer: Peer): boolean {
    return this.#conduct.isSuspect(peer);
  }

  blocklisted(): BlocklistEntry[] {
    return this.#blocklist.list();
  }

  #close(session: Session, reason: string): void {
    if (!this.#sessions.remove(session)) return;
    this.#metrics.disconnected.inc();
    const links = this.#sessions.links(session.remoteId);
    for (const link of links) link.close(new StreamError('STREAM_RESET', reason));
    this.#announceEnd(session, reason);
  }

  #end(session: Session, reason: string): void {
    if (this.#sessions.remove(session)) this.#announceEnd(session, reason);
  }

  #announceEnd({ peer }: Session, reason: string): void {
    this.#deps.log.debug({ peer: peer.overlayHex, reason }, 'peer disconnected');
    for (const listener of this.#onDisconnected) listener(peer, reason);
  }

  setPicker(picker: (overlay: Uint8Array, fullNode: boolean) => boolean): void {
    this.#picker = picker;
  }

  onConnect(hook: ConnectHook): void {
    this.#hooks.push(hook);
  }

  onConnected(listener: (peer: Peer) => void): void {
    this.#onConnected.push(listener);
  }

  onDisconnected(listener: (peer: Peer, reason: string) => void): void {
    this.#onDisconnected.push(listener);
  }

  welcomeMessage(): string {
    return this.#welcomeMessage;
  }

  setWelcomeMessage(text: string): void {
    const size = Buffer.byteLength(text);
    if (size > WELCOME_BYTES_MAX) {
      throw new RangeError(
        `handshake welcome message longer than maximum of ${WELCOME_BYTES_MAX} characters`,
      );
    }
    this.#welcomeMessage = text;
  }
}
