/**
 * A hostile peer: the other end of the node's connection, byte by byte, above negotiation and encryption. The node's own end
 * counts what it holds.
 */
import type { Clock } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { mintRecord, NO_CHEQUEBOOK, NO_TIME } from '../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { encodeFrame } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf } from '../../../node/p2p/codec/message.ts';
import { ackMessage } from '../../../node/p2p/handshake/rules.ts';
import { Ack, HANDSHAKE_DIALECTS, Syn } from '../../../node/p2p/handshake/wire.ts';
import { type Generation, HostError, StreamError } from '../../../node/p2p/host.ts';
import { FrameReader } from '../../../node/p2p/stream/framing.ts';
import { Inbox } from '../../../node/p2p/stream/inbox.ts';
import type { Link, LinkEvents, RawStream, Transport } from '../../../node/p2p/transport.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../p2p/memory-nodes.ts';

/** Bytes in flight unread, as on a real connection. */
const WINDOW = 262_144;
const TARGET_ID = '12D3KooWK99VoVxNE7XzyBwXEzW7xhK7Gpv85r9F3V3fyKSUKPH5';
const TARGET_ADDRESS = '/ip4/10.0.0.1/tcp/1634';

export class HostileStream {
  readonly protocolId: string;
  readonly #node: NodeStream;
  readonly written: Uint8Array[] = [];
  #unread = 0;
  /** False: the node finds no room after the first window. */
  reads = true;
  /** Called when the node has written to the stream or is done with it. */
  onNews: () => void = () => undefined;

  constructor(protocolId: string) {
    this.protocolId = protocolId;
    this.#node = new NodeStream(this);
  }

  get nodeEnd(): RawStream & { readonly open: boolean } {
    return this.#node;
  }

  send(bytes: Uint8Array): number {
    return this.#node.arrive(bytes);
  }

  end(): void {
    this.#node.otherEnded();
  }

  reset(): void {
    this.#node.fail(new StreamError('STREAM_RESET', 'the other side reset the stream'));
  }

  get state(): 'open' | 'ended' | 'reset' {
    return this.#node.state;
  }

  /** Bytes that the node took out of its inbox. */
  get taken(): number {
    return this.#node.taken;
  }

  receive(bytes: Uint8Array): void {
    this.written.push(bytes);
    if (!this.reads) this.#unread += bytes.length;
    this.onNews();
  }

  get full(): boolean {
    return this.#unread > WINDOW;
  }

  frames(): Uint8Array[] {
    const reader = new FrameReader(Number.MAX_SAFE_INTEGER);
    for (const bytes of this.written) reader.push(bytes);
    const bodies: Uint8Array[] = [];
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) bodies.push(frame.bytes);
    return bodies;
  }
}

class NodeStream implements RawStream {
  readonly #other: HostileStream;
  readonly #inbox = new Inbox((count) => {
    this.taken += count;
  });
  taken = 0;
  #room: PromiseWithResolvers<void> | undefined;
  #writing = true;
  #ended = false;
  #failure: Error | undefined;
  #reset = false;

  constructor(other: HostileStream) {
    this.#other = other;
  }

  get open(): boolean {
    return this.#failure === undefined && (this.#writing || !this.#ended);
  }

  get state(): 'open' | 'ended' | 'reset' {
    if (this.#reset) return 'reset';
    return this.#writing ? 'open' : 'ended';
  }

  arrive(bytes: Uint8Array): number {
    const fitting = bytes.subarray(0, WINDOW - this.#inbox.size);
    this.#inbox.push(fitting);
    return fitting.length;
  }

  otherEnded(): void {
    this.#ended = true;
    this.#inbox.end();
  }

  fail(reason: Error): void {
    if (!this.open) return;
    this.#failure = reason;
    this.#inbox.breakOff(reason);
    this.#room?.resolve();
  }

  write(bytes: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#writing) throw new StreamError('STREAM_RESET', 'our side of the stream is closed');
    this.#other.receive(bytes);
  }

  drained(): Promise<void> | undefined {
    if (!this.#other.full || this.#failure !== undefined) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  take(): Uint8Array | undefined {
    return this.#inbox.take();
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#inbox.read();
  }

  closeWrite(): void {
    this.#writing = false;
    this.#other.onNews();
  }

  reset(reason: Error): void {
    if (!this.open) return;
    this.#reset = true;
    this.#failure = reason;
    this.#inbox.fail(reason);
    this.#room?.resolve();
    this.#other.onNews();
  }
}

export type Behaviour = (stream: HostileStream) => void;

export class HostileLink implements Link {
  readonly remoteId: string;
  readonly remoteAddress: string;
  readonly direction: Link['direction'];
  readonly #owner: HostileTransport;
  readonly streams: HostileStream[] = [];
  /** What happens to streams that the node opens, by protocol; others are not spoken. */
  readonly behaviours = new Map<string, Behaviour>();
  closed: Error | undefined;

  constructor(owner: HostileTransport, n: number, direction: Link['direction']) {
    this.#owner = owner;
    this.remoteId = peerIdOfNumber(n);
    this.remoteAddress = `/ip4/10.0.1.${n}/tcp/1634`;
    this.direction = direction;
  }

  async listenAddresses(): Promise<string[]> {
    return [this.remoteAddress];
  }

  open(protocolId: string): RawStream {
    if (this.closed !== undefined) throw new StreamError('STREAM_RESET', 'the connection is closed');
    const stream = new HostileStream(protocolId);
    this.streams.push(stream);
    const behaviour = this.behaviours.get(protocolId);
    if (behaviour === undefined) {
      stream.nodeEnd.reset(new StreamError('PROTOCOL_UNSUPPORTED', `peer does not speak ${protocolId}`));
    } else queueMicrotask(() => behaviour(stream));
    return stream.nodeEnd;
  }

  async negotiate(protocolIds: readonly string[]): Promise<{ protocolId: string; stream: RawStream }> {
    const protocolId = protocolIds.find((id) => this.behaviours.has(id));
    if (protocolId === undefined) throw new StreamError('PROTOCOL_UNSUPPORTED', 'peer speaks none of them');
    return { protocolId, stream: this.open(protocolId) };
  }

  close(reason: Error): void {
    if (this.closed !== undefined) return;
    this.closed = reason;
    for (const stream of this.streams) stream.reset();
    this.#owner.gone(this);
  }

  accost(protocolId: string): HostileStream {
    const stream = new HostileStream(protocolId);
    this.streams.push(stream);
    this.#owner.accepted(this, stream);
    return stream;
  }

  get left(): HostileStream[] {
    return this.streams.filter(({ nodeEnd }) => nodeEnd.open);
  }
}

const PEER_IDS = [
  '12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq',
  '12D3KooWRndVhVZPCiQwHBBBdg769GyrPUW13zxwqQyf9r3ANaba',
  '12D3KooWPT98FXMfDQYavZm66EeVjTqP9Nnehn1gyaydqV8L8BQw',
  '12D3KooWHFd1gyNYFqxt7ke9FY2VoVVWY2XSPhvL9vg2pB6wQGfa',
];

function peerIdOfNumber(n: number): string {
  return PEER_IDS[n % PEER_IDS.length] as string;
}

export class HostileTransport implements Transport {
  readonly localId = TARGET_ID;
  readonly links: HostileLink[] = [];
  #events: LinkEvents | undefined;
  dialled: { readonly n: number; readonly behaviours: ReadonlyMap<string, Behaviour> } | undefined;

  addresses(): string[] {
    return [TARGET_ADDRESS];
  }

  async start(events: LinkEvents): Promise<void> {
    this.#events = events;
  }

  async dial(): Promise<Link> {
    if (this.dialled === undefined) throw new HostError('DIAL_FAILED', 'nobody listens');
    const link = this.#link(this.dialled.n, 'outbound');
    for (const [id, behaviour] of this.dialled.behaviours) link.behaviours.set(id, behaviour);
    return link;
  }

  async probe(): Promise<number> {
    return 0;
  }

  async stop(): Promise<void> {
    for (const link of this.links) link.close(new StreamError('STREAM_RESET', 'the host is closed'));
  }

  connect(n: number): HostileLink {
    return this.#link(n, 'inbound');
  }

  #link(n: number, direction: Link['direction']): HostileLink {
    const link = new HostileLink(this, n, direction);
    this.links.push(link);
    this.#events?.opened(link);
    return link;
  }

  gone(link: HostileLink): void {
    this.#events?.closed(link);
  }

  accepted(link: HostileLink, stream: HostileStream): void {
    if (this.#events?.supports(stream.protocolId) !== true) throw new Error(`no ${stream.protocolId}`);
    this.#events.accepted(link, stream.protocolId, stream.nodeEnd);
  }
}

export function credentials(
  n: number,
  clock: Clock,
  generation: Generation = '15.0.0',
): MessageOf<typeof Ack> {
  const underlay = encodeUnderlays([`/ip4/10.0.1.${n}/tcp/1634/p2p/${peerIdOfNumber(n)}`]);
  const timestamp = generation === '15.0.0' ? BigInt(Math.floor(clock.now() / 1000)) : NO_TIME;
  const statement = { underlay, nonce: ZERO_NONCE, timestamp, chequebook: NO_CHEQUEBOOK };
  const record = mintRecord(statement, { signer: createSigner(testKey(n)), networkId: NETWORK_ID });
  return ackMessage({ record, networkId: NETWORK_ID, fullNode: true, welcomeMessage: '' });
}

export const OBSERVED = encodeUnderlays([`${TARGET_ADDRESS}/p2p/${TARGET_ID}`]);

export function introduce(link: HostileLink, n: number, clock: Clock, generation: Generation): void {
  const dialect = HANDSHAKE_DIALECTS.find((one) => one.generation === generation);
  const stream = link.accost((dialect ?? HANDSHAKE_DIALECTS[0]).id);
  stream.send(encodeFrame(Syn, { observedUnderlay: OBSERVED }));
  stream.send(encodeFrame(Ack, credentials(n, clock, generation)));
  stream.end();
}
