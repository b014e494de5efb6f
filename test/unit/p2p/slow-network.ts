/**
 * Bytes of these nodes take time, each its own: two sides may see things in different orders. On one link they arrive in the
 * order of sending, as with TCP.
 */
import type { Clock } from '../../../formats/clock.ts';
import { ed25519Protobuf, peerIdOfKey } from '../../../node/p2p/address/identity-key.ts';
import { withoutPeerId } from '../../../node/p2p/address/underlay.ts';
import { HostError, StreamError } from '../../../node/p2p/host.ts';
import { Inbox } from '../../../node/p2p/stream/inbox.ts';
import type { AcceptedStream, Link, LinkEvents, RawStream, Transport } from '../../../node/p2p/transport.ts';
import { testKey } from './memory-nodes.ts';

export class SlowNetwork {
  readonly #clock: Clock;
  readonly #latencyMs: () => number;
  readonly #listeners = new Map<string, SlowTransport>();
  #ports = 50_000;

  constructor(clock: Clock, latencyMs: () => number) {
    this.#clock = clock;
    this.#latencyMs = latencyMs;
  }

  transport(n: number): Transport {
    const transport = new SlowTransport(
      this,
      `/ip4/10.0.0.${n}/tcp/1634`,
      peerIdOfKey(ed25519Protobuf(testKey(n))),
    );
    this.#listeners.set(transport.address, transport);
    return transport;
  }

  at(underlay: string): SlowTransport {
    const transport = this.#listeners.get(withoutPeerId(underlay));
    if (transport?.events === undefined) throw new HostError('DIAL_FAILED', `nobody listens at ${underlay}`);
    return transport;
  }

  port(): number {
    return this.#ports++;
  }

  way(): (arrive: () => void) => void {
    let last = 0;
    return (arrive) => {
      const now = this.#clock.monotonic();
      last = Math.max(last, now + this.#latencyMs());
      this.#clock.timer(last - now, arrive);
    };
  }

  pass(signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(this.#latencyMs(), signal);
  }
}

class SlowTransport implements Transport {
  readonly localId: string;
  readonly address: string;
  readonly #network: SlowNetwork;
  readonly #links = new Set<SlowLink>();
  events: LinkEvents | undefined;

  constructor(network: SlowNetwork, address: string, localId: string) {
    this.#network = network;
    this.address = address;
    this.localId = localId;
  }

  addresses(): string[] {
    return [this.address];
  }

  async start(events: LinkEvents): Promise<void> {
    this.events = events;
  }

  async dial(underlay: string, signal: AbortSignal): Promise<Link> {
    await this.#network.pass(signal);
    const other = this.#network.at(underlay);
    const port = this.#network.port();
    const here = new SlowLink(this, other, { direction: 'outbound', remoteAddress: other.address });
    const there = new SlowLink(other, this, {
      direction: 'inbound',
      remoteAddress: this.address.replace(/\d+$/, String(port)),
    });
    here.twin = there;
    there.twin = here;
    other.opened(there);
    const { promise, resolve } = Promise.withResolvers<void>();
    there.send(() => {
      this.opened(here);
      resolve();
    });
    await promise;
    return here;
  }

  async probe(underlay: string, signal: AbortSignal): Promise<number> {
    await this.#network.pass(signal);
    this.#network.at(underlay);
    return 1;
  }

  async stop(): Promise<void> {
    for (const link of this.#links) link.close(new StreamError('STREAM_RESET', 'the host is closed'));
    this.events = undefined;
  }

  opened(link: SlowLink): void {
    this.#links.add(link);
    this.events?.opened(link);
  }

  closed(link: SlowLink): void {
    if (this.#links.delete(link)) this.events?.closed(link);
  }

  way(): (arrive: () => void) => void {
    return this.#network.way();
  }
}

class SlowLink implements Link {
  readonly remoteId: string;
  readonly remoteAddress: string;
  readonly direction: Link['direction'];
  twin: SlowLink | undefined;
  readonly #own: SlowTransport;
  readonly #other: SlowTransport;
  readonly #way: (arrive: () => void) => void;
  readonly #streams = new Set<SlowStream>();
  #open = true;

  constructor(own: SlowTransport, other: SlowTransport, end: Pick<Link, 'direction' | 'remoteAddress'>) {
    this.#own = own;
    this.#other = other;
    this.remoteId = other.localId;
    this.direction = end.direction;
    this.remoteAddress = end.remoteAddress;
    this.#way = own.way();
  }

  /** Unless that is closed when it arrives. */
  send(arrive: () => void): void {
    this.#way(() => {
      if (this.twin?.isOpen === true) arrive();
    });
  }

  get isOpen(): boolean {
    return this.#open;
  }

  async listenAddresses(): Promise<string[]> {
    return [this.#other.address];
  }

  open(protocolId: string): RawStream {
    if (!this.#open) throw new StreamError('STREAM_RESET', 'the connection is closed');
    const here = this.#stream();
    this.send(() => {
      const there = (this.twin as SlowLink).#stream();
      here.twin = there;
      there.twin = here;
      const events = this.#other.events;
      if (events?.supports(protocolId) === true) events.accepted(this.twin as SlowLink, protocolId, there);
      else there.reset(new StreamError('PROTOCOL_UNSUPPORTED', protocolId));
    });
    return here;
  }

  async negotiate(protocolIds: readonly string[]): Promise<AcceptedStream> {
    const [protocolId = ''] = protocolIds;
    return { protocolId, stream: this.open(protocolId) };
  }

  close(reason: Error): void {
    if (!this.#open) return;
    this.#open = false;
    for (const stream of this.#streams) stream.fail(reason);
    this.#own.closed(this);
    this.send(() => this.twin?.close(new StreamError('STREAM_RESET', 'the connection is closed')));
  }

  #stream(): SlowStream {
    const stream = new SlowStream((arrive) => this.send(arrive));
    this.#streams.add(stream);
    return stream;
  }
}

class SlowStream implements RawStream {
  twin: SlowStream | undefined;
  readonly #send: (arrive: () => void) => void;
  readonly inbox = new Inbox(() => undefined);
  #failure: Error | undefined;

  constructor(send: (arrive: () => void) => void) {
    this.#send = send;
  }

  write(bytes: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    const copy = bytes.slice();
    this.#send(() => this.twin?.inbox.push(copy));
  }

  drained(): undefined {
    return undefined;
  }

  take(): Uint8Array | undefined {
    return this.inbox.take();
  }

  read(): Promise<Uint8Array | undefined> {
    return this.inbox.read();
  }

  closeWrite(): void {
    this.#send(() => this.twin?.inbox.end());
  }

  reset(reason: Error): void {
    if (this.#failure !== undefined) return;
    this.fail(reason);
    this.#send(() => this.twin?.fail(new StreamError('STREAM_RESET', 'the other side reset the stream')));
  }

  fail(reason: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.inbox.fail(reason);
  }
}
