/**
 * Nodes of one process, connected without sockets or timers: for unit tests and the simulation. The same `peer-host.ts`
 * runs above it, with the real handshake, records, headers and message bytes; only the transport is replaced. Bytes
 * arrive in the order in which they were written, in the same turn, so a run repeats exactly.
 */
import { overlayAddress } from '../crypto/overlay.ts';
import { ed25519Protobuf, peerIdOfKey } from './address/identity-key.ts';
import { peerIdOf, withoutPeerId } from './address/underlay.ts';
import { type Host, HostError, StreamError } from './host.ts';
import { createPeerHost, type PeerHostDeps, type PeerHostOptions } from './peer-host.ts';
import { Inbox } from './stream/inbox.ts';
import type { AcceptedStream, Link, LinkEvents, RawStream, Transport } from './transport.ts';

/** A writer waits while the other side has this much unread: the first window of a real stream. */
const UNREAD_MAX = 262_144;

/** Ports that diallers come from. */
const FIRST_DIALLER_PORT = 49_152;
const DIALLER_PORTS = 16_384;

/** The wire between memory hosts: who listens at which address. */
export class MemoryNetwork {
  readonly #listeners = new Map<string, MemoryTransport>();
  #dialled = 0;

  /** @throws RangeError when the address is taken */
  listen(address: string, transport: MemoryTransport): void {
    if (this.#listeners.has(address)) throw new RangeError(`${address} is taken`);
    this.#listeners.set(address, transport);
  }

  /** From which a dialler comes: another one each time. */
  port(): number {
    return FIRST_DIALLER_PORT + (this.#dialled++ % DIALLER_PORTS);
  }

  leave(address: string): void {
    this.#listeners.delete(address);
  }

  at(address: string): MemoryTransport | undefined {
    return this.#listeners.get(address);
  }
}

export interface MemoryHostOptions extends PeerHostOptions {
  /** `ip:port`, one per host of the network. */
  readonly listen: string;
}

export function createMemoryHost(
  options: MemoryHostOptions,
  deps: Omit<PeerHostDeps, 'transport'> & { network: MemoryNetwork },
): Host {
  const overlay = overlayAddress(deps.signer.address, options.networkId, options.nonce);
  const [ip, port] = options.listen.split(':');
  const transport = new MemoryTransport(deps.network, {
    address: `/ip4/${ip}/tcp/${port}`,
    localId: peerIdOfKey(ed25519Protobuf(overlay)),
  });
  return createPeerHost(options, { ...deps, transport });
}

class MemoryTransport implements Transport {
  readonly localId: string;
  readonly #address: string;
  readonly #network: MemoryNetwork;
  readonly #links = new Set<MemoryLink>();
  #events: LinkEvents | undefined;

  constructor(network: MemoryNetwork, identity: { localId: string; address: string }) {
    this.#network = network;
    this.localId = identity.localId;
    this.#address = identity.address;
  }

  addresses(): string[] {
    return this.#events === undefined ? [] : [this.#address];
  }

  async start(events: LinkEvents): Promise<void> {
    this.#network.listen(this.#address, this);
    this.#events = events;
  }

  async dial(underlay: string): Promise<Link> {
    const other = this.#find(underlay);
    const here = this.#link(other, { direction: 'outbound', remoteAddress: other.#address });
    here.twin = other.#link(this, {
      direction: 'inbound',
      remoteAddress: this.#address.replace(/\d+$/, String(this.#network.port())),
    });
    here.twin.twin = here;
    other.#opened(here.twin);
    this.#opened(here);
    return here;
  }

  /** Everything on this network takes no time. */
  async probe(underlay: string): Promise<number> {
    this.#find(underlay);
    return 0;
  }

  #find(underlay: string): MemoryTransport {
    const expected = peerIdOf(underlay);
    const address = withoutPeerId(underlay);
    const other = this.#network.at(address);
    if (this.#events === undefined) throw new HostError('HOST_CLOSED', 'the host is closed');
    if (other === undefined) throw new HostError('DIAL_FAILED', `nobody listens at ${address}`);
    if (expected !== undefined && other.localId !== expected) {
      throw new HostError('DIAL_FAILED', `another node listens at ${address}`);
    }
    return other;
  }

  async stop(): Promise<void> {
    if (this.#events === undefined) return;
    this.#network.leave(this.#address);
    for (const link of this.#links) link.close(new StreamError('STREAM_RESET', 'the host is closed'));
    this.#events = undefined;
  }

  #link(other: MemoryTransport, seen: Pick<Link, 'direction' | 'remoteAddress'>): MemoryLink {
    const end = { remoteId: other.localId, listensAt: other.#address, ...seen };
    return new MemoryLink(end, {
      supports: (protocolId) => this.#events?.supports(protocolId) ?? false,
      accepted: (link, protocolId, stream) => this.#events?.accepted(link, protocolId, stream),
      closed: (link) => {
        if (this.#links.delete(link)) this.#events?.closed(link);
      },
    });
  }

  #opened(link: MemoryLink): void {
    this.#links.add(link);
    this.#events?.opened(link);
  }
}

interface LinkOwner {
  supports(protocolId: string): boolean;
  accepted(link: MemoryLink, protocolId: string, stream: RawStream): void;
  closed(link: MemoryLink): void;
}

type End = Pick<Link, 'remoteId' | 'remoteAddress' | 'direction'> & { readonly listensAt: string };

/** One end of a connection. */
class MemoryLink implements Link {
  readonly remoteId: string;
  readonly remoteAddress: string;
  readonly #listensAt: string;
  readonly direction: Link['direction'];
  twin: MemoryLink | undefined;
  readonly #owner: LinkOwner;
  readonly #streams = new Set<MemoryStream>();
  #open = true;

  constructor(end: End, owner: LinkOwner) {
    this.#listensAt = end.listensAt;
    this.remoteId = end.remoteId;
    this.remoteAddress = end.remoteAddress;
    this.direction = end.direction;
    this.#owner = owner;
  }

  async listenAddresses(): Promise<string[]> {
    return [this.#listensAt];
  }

  open(protocolId: string): RawStream {
    const { twin } = this;
    if (!this.#open || twin === undefined) throw new StreamError('STREAM_RESET', 'the connection is closed');
    const here = this.#stream();
    if (!twin.#owner.supports(protocolId)) {
      here.fail(new StreamError('PROTOCOL_UNSUPPORTED', `peer does not speak ${protocolId}`));
      return here;
    }
    const there = twin.#stream();
    here.twin = there;
    there.twin = here;
    queueMicrotask(() => twin.#owner.accepted(twin, protocolId, there));
    return here;
  }

  async negotiate(protocolIds: readonly string[]): Promise<AcceptedStream> {
    const { twin } = this;
    const protocolId = twin && protocolIds.find((id) => twin.#owner.supports(id));
    if (protocolId === undefined) {
      throw new StreamError('PROTOCOL_UNSUPPORTED', `peer does not speak ${protocolIds.join(' or ')}`);
    }
    return { protocolId, stream: this.open(protocolId) };
  }

  close(reason: Error): void {
    if (!this.#open) return;
    this.#open = false;
    for (const stream of this.#streams) stream.fail(reason);
    this.#owner.closed(this);
    this.twin?.close(new StreamError('STREAM_RESET', 'the connection is closed'));
  }

  #stream(): MemoryStream {
    const stream: MemoryStream = new MemoryStream(() => this.#streams.delete(stream));
    this.#streams.add(stream);
    return stream;
  }
}

/** One end of a stream: what it writes lands in its twin's inbox. */
class MemoryStream implements RawStream {
  twin: MemoryStream | undefined;
  readonly #done: () => void;
  readonly #inbox = new Inbox(() => this.#room?.resolve());
  /** Somebody who waits until the reader of this end took something. */
  #room: PromiseWithResolvers<void> | undefined;
  #writing = true;
  #ended = false;
  #failure: Error | undefined;

  constructor(done: () => void) {
    this.#done = done;
  }

  write(bytes: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#writing) throw new StreamError('STREAM_RESET', 'our side of the stream is closed');
    if (this.twin !== undefined) this.twin.#inbox.push(bytes);
  }

  drained(): Promise<void> | undefined {
    const { twin } = this;
    return twin === undefined || twin.#inbox.size <= UNREAD_MAX ? undefined : this.#drained(twin);
  }

  async #drained(twin: MemoryStream): Promise<void> {
    while (this.#failure === undefined && twin.#inbox.size > UNREAD_MAX) {
      twin.#room = Promise.withResolvers();
      await twin.#room.promise;
    }
  }

  take(): Uint8Array | undefined {
    return this.#inbox.take();
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#inbox.read();
  }

  closeWrite(): void {
    if (!this.#writing) return;
    this.#writing = false;
    const { twin } = this;
    if (twin === undefined) return;
    twin.#inbox.end();
    twin.#ended = true;
    this.#finishWhenBothEnded();
    twin.#finishWhenBothEnded();
  }

  reset(reason: Error): void {
    this.fail(reason);
    this.twin?.fail(new StreamError('STREAM_RESET', 'the other side reset the stream'));
  }

  fail(reason: Error): void {
    if (this.#failure !== undefined || (this.#ended && !this.#writing)) return;
    this.#failure = reason;
    this.#inbox.fail(reason);
    this.#room?.resolve();
    this.#done();
  }

  #finishWhenBothEnded(): void {
    if (this.#ended && !this.#writing) this.#done();
  }
}
