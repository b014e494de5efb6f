import { RingEntry } from '../../formats/ring.ts';
import { StreamError } from './host.ts';
import { Inbox } from './stream/inbox.ts';
import type { AcceptedStream, Link, RawStream } from './transport.ts';

/** The first window of a real stream. */
export const WINDOW_DEFAULT = 262_144;

export interface MemoryFrame {
  readonly kind: 'dial' | 'open' | 'refuse' | 'data' | 'end' | 'reset' | 'close';
  /** Peer ids. */
  readonly from: string;
  readonly to: string;
  /** Empty for frames of the whole link. */
  readonly protocolId: string;
  readonly bytes: Uint8Array;
  /** Absent from frames of the whole link. */
  readonly conversation?: MemoryConversation | undefined;
}

/** A stream as both ends know it. */
export interface MemoryConversation {
  /** The same for all on one connection. */
  readonly connection: object;
  /** Both ends see it reset. */
  break(reason: Error): void;
  /** Another one of its opener, in the same protocol. @throws StreamError when the connection has ended */
  again(): RawStream;
  /** Its acceptor sees it reset. @returns what its opener hears from now on */
  takeOver(reason: Error): Pick<RawStream, 'write' | 'closeWrite'>;
}

type Sent = Pick<MemoryFrame, 'kind'> & Partial<Pick<MemoryFrame, 'protocolId' | 'bytes' | 'conversation'>>;

interface LinkOwner {
  /** Unread bytes at which writers to this side wait. */
  readonly window: number;
  supports(protocolId: string): boolean;
  accepted(link: MemoryLink, protocolId: string, stream: RawStream): void;
  closed(link: MemoryLink): void;
  receive(work: () => void): void;
  /** Resolves when more may be in transit; undefined when it may already. */
  room(): Promise<void> | undefined;
  /** @param deliver runs on the other side, with the bytes as they arrive */
  send(frame: Sent, deliver: (bytes: Uint8Array) => void): void;
}

type End = Pick<Link, 'remoteId' | 'remoteAddress' | 'direction'> & { readonly listensAt: string };

/** Reported at least once; later reports are ignored. */
interface Outcome {
  readonly agreed: (protocolId: string) => void;
  readonly failed: (reason: Error) => void;
}

export class MemoryLink implements Link {
  readonly remoteId: string;
  readonly remoteAddress: string;
  readonly direction: Link['direction'];
  twin: MemoryLink | undefined;
  readonly owner: LinkOwner;
  readonly #listensAt: string;
  /** Streams that neither end has ended, oldest first. */
  readonly #streams = new RingEntry();
  #open = true;

  constructor(end: End, owner: LinkOwner) {
    this.#listensAt = end.listensAt;
    this.remoteId = end.remoteId;
    this.remoteAddress = end.remoteAddress;
    this.direction = end.direction;
    this.owner = owner;
  }

  /** The same for both ends. */
  get connection(): object {
    return this.direction === 'outbound' ? this : (this.twin ?? this);
  }

  async listenAddresses(): Promise<string[]> {
    return [this.#listensAt];
  }

  open(protocolId: string): RawStream {
    return this.#propose([protocolId]);
  }

  negotiate(protocolIds: readonly string[], signal: AbortSignal): Promise<AcceptedStream> {
    return new Promise((resolve, reject) => {
      const onAbort = () => stream.reset(signal.reason as Error);
      const over = () => signal.removeEventListener('abort', onAbort);
      const stream: MemoryStream = this.#propose(protocolIds, {
        agreed(protocolId) {
          over();
          resolve({ protocolId, stream });
        },
        failed(reason) {
          over();
          reject(reason);
        },
      });
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  close(reason: Error): void {
    if (!this.#open) return;
    const { twin } = this;
    this.#end(reason);
    if (twin !== undefined) this.owner.send({ kind: 'close' }, () => twin.#end(closedByOther()));
  }

  break(reason: Error): void {
    const { twin } = this;
    this.owner.receive(() => this.#end(reason));
    twin?.owner.receive(() => twin.#end(reason));
  }

  /** As in a power cut: this end is told nothing, the other sees a broken connection. */
  vanish(): void {
    const { twin } = this;
    this.#open = false;
    while (this.#streams.after !== this.#streams) this.#streams.after.leave();
    this.twin = undefined;
    twin?.owner.receive(() => twin.#end(closedByOther()));
  }

  /** The other side accepts the first that it speaks. */
  #propose(protocolIds: readonly string[], outcome?: Outcome): MemoryStream {
    const { twin, owner } = this;
    if (!this.#open || twin === undefined) throw closedByOther();
    const here = this.#stream();
    const there = twin.#stream();
    here.twin = there;
    there.twin = here;
    const conversation: MemoryConversation = {
      connection: this.connection,
      break(reason) {
        here.break(reason);
        there.break(reason);
      },
      again: () => this.open(here.protocolId),
      takeOver(reason) {
        there.break(reason);
        return { write: (bytes) => there.say(bytes), closeWrite: () => there.end() };
      },
    };
    here.conversation = conversation;
    there.conversation = conversation;
    here.protocolId = protocolIds[0] ?? '';
    here.onFailure = outcome?.failed;
    owner.send({ kind: 'open', protocolId: protocolIds.join(' '), conversation }, () => {
      if (!twin.#open) return;
      const protocolId = protocolIds.find((id) => twin.owner.supports(id));
      if (protocolId === undefined) return twin.#refuse({ here: there, other: here }, protocolIds);
      here.protocolId = protocolId;
      there.protocolId = protocolId;
      queueMicrotask(() => twin.owner.receive(() => twin.owner.accepted(twin, protocolId, there)));
      queueMicrotask(() => owner.receive(() => outcome?.agreed(protocolId)));
    });
    return here;
  }

  /** @param ends our end of the stream, and that of the side that proposed */
  #refuse(ends: { here: MemoryStream; other: MemoryStream }, protocolIds: readonly string[]): void {
    const protocolId = protocolIds.join(' or ');
    const reason = new StreamError('PROTOCOL_UNSUPPORTED', `peer does not speak ${protocolId}`);
    ends.here.fail(reason);
    const { conversation } = ends.here;
    this.owner.send({ kind: 'refuse', protocolId, conversation }, () => ends.other.fail(reason));
  }

  #end(reason: Error): void {
    if (!this.#open) return;
    this.#open = false;
    // Failing one may make others leave.
    while (this.#streams.after !== this.#streams) {
      const stream = this.#streams.after as MemoryStream;
      stream.leave();
      stream.fail(reason);
    }
    this.owner.closed(this);
  }

  #stream(): MemoryStream {
    return new MemoryStream(this.owner, this.#streams);
  }
}

function closedByOther(): StreamError {
  return new StreamError('STREAM_RESET', 'the connection is closed');
}

class MemoryStream extends RingEntry implements RawStream {
  twin: MemoryStream | undefined;
  conversation: MemoryConversation | undefined;
  protocolId = '';
  onFailure: ((reason: Error) => void) | undefined;
  readonly #owner: LinkOwner;
  readonly #inbox = new Inbox(() => this.#taken());
  #coming = 0;
  /** A writer waiting for the reader of this end. */
  #room: PromiseWithResolvers<void> | undefined;
  #writing = true;
  #ended = false;
  #failure: Error | undefined;

  /** @param open its link's */
  constructor(owner: LinkOwner, open: RingEntry) {
    super();
    this.#owner = owner;
    this.join(open);
  }

  write(bytes: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#writing) throw new StreamError('STREAM_RESET', 'our side of the stream is closed');
    this.say(bytes);
  }

  say(bytes: Uint8Array): void {
    const { twin } = this;
    if (twin === undefined) return;
    twin.#coming += bytes.length;
    this.#send({ kind: 'data', bytes }, (arrived) => {
      // More may arrive than was sent.
      twin.#coming = Math.max(0, twin.#coming - arrived.length);
      twin.#inbox.push(arrived);
    });
  }

  drained(): Promise<void> | undefined {
    const { twin } = this;
    if (twin === undefined || (!twin.#isFull && this.#owner.room() === undefined)) return undefined;
    return this.#drained(twin);
  }

  async #drained(twin: MemoryStream): Promise<void> {
    while (this.#failure === undefined) {
      const onWay = this.#owner.room();
      if (onWay === undefined && !twin.#isFull) return;
      // Also resolved when the stream fails.
      twin.#room = Promise.withResolvers();
      await (onWay === undefined ? twin.#room.promise : Promise.race([onWay, twin.#room.promise]));
    }
  }

  get #isFull(): boolean {
    return this.#inbox.size + this.#coming > this.#owner.window;
  }

  #taken(): void {
    const room = this.#room;
    if (room === undefined || this.twin === undefined) return;
    this.twin.#owner.receive(() => room.resolve());
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
    if (this.twin !== undefined) this.#finishWhenBothEnded();
    this.end();
  }

  end(): void {
    const { twin } = this;
    if (twin === undefined) return;
    this.#send({ kind: 'end' }, () => {
      twin.#inbox.end();
      twin.#ended = true;
      twin.#finishWhenBothEnded();
    });
  }

  reset(reason: Error): void {
    const { twin } = this;
    const hadFailed = this.#failure !== undefined;
    this.fail(reason);
    if (twin === undefined || hadFailed) return;
    this.#send({ kind: 'reset' }, () =>
      twin.fail(new StreamError('STREAM_RESET', 'the other side reset the stream')),
    );
  }

  break(reason: Error): void {
    this.#owner.receive(() => this.fail(reason));
  }

  fail(reason: Error): void {
    if (this.#failure !== undefined || (this.#ended && !this.#writing)) return;
    this.#failure = reason;
    this.#inbox.fail(reason);
    this.onFailure?.(reason);
    this.#room?.resolve();
    const { twin } = this;
    if (twin !== undefined) twin.#room?.resolve();
    this.leave();
  }

  #send(frame: Sent, deliver: (bytes: Uint8Array) => void): void {
    const { protocolId, conversation } = this;
    this.#owner.send({ ...frame, protocolId, conversation }, deliver);
  }

  #finishWhenBothEnded(): void {
    if (this.#ended && !this.#writing) this.leave();
  }
}
