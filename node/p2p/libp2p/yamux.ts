/**
 * yamux 1.0.0 over any ordered byte channel. Own implementation, because streams are most of the cost of forwarding a chunk:
 *  - frames of one turn of the event loop leave as one write: one encryption and one system call;
 *  - a stream is opened by its first data frame, and costs no timers or listeners.
 *
 * Frame: version u8 = 0, type u8, flags u16, stream id u32, length u32, big endian; only data frames have a body.
 */
import { StreamError } from '../host.ts';
import { Inbox } from '../stream/inbox.ts';
import type { RawStream } from '../transport.ts';

export const YAMUX_ID = '/yamux/1.0.0';

const HEADER_SIZE = 12;
const TYPE = { data: 0, windowUpdate: 1, ping: 2, goAway: 3 } as const;
const FLAG = { syn: 1, ack: 2, fin: 4, rst: 8 } as const;
const STREAM_ID_MAX = 0xff_ff_ff_ff;

/** Window of every new stream, in each direction. */
const WINDOW = 262_144;
/** Credit is returned in halves: few updates. */
const CREDIT_MIN = WINDOW / 2;
/** With this much queued, a link does not wait for the end of the turn. */
const OUTBOX_MAX = 262_144;
/** System-wide limit of the public network's nodes. */
const INBOUND_STREAMS_MAX = 5000;
const OUTBOUND_STREAMS_MAX = 10_000;
/** The other side can make us answer (pings, refusals) without reading. */
const OUTBOX_PIECES_MAX = 131_072;
const OUTBOX_BYTES_MAX = 256 * WINDOW;
/** Unread bytes that stay readable after a reset, because they may say why. */
const UNREAD_AFTER_RESET_MAX = 8_192;
/** Unread bytes of a link. */
const UNREAD_MAX = 256 * WINDOW;

/**
 * Bytes held by all links of a node. Beyond it, a link with more than its share is broken off; honest ones hold next to
 * nothing.
 */
export const HELD_MAX = 128 * 2 ** 20;
export const HELD_SHARE = 4 * 2 ** 20;

const NOTHING: Uint8Array = new Uint8Array(0);

/** Shared by all links of a node. */
export interface HeldBytes {
  count: number;
}

export interface YamuxDeps {
  /** False: wait for `drained()`. */
  send(bytes: Uint8Array): boolean;
  /** At the end of this turn of the event loop. */
  defer(flush: () => void): void;
  /** A stream of the other side, with the bytes of its first packet. */
  accepted(stream: YamuxStream): void;
  /** The channel has to go. */
  broken(error: Error): void;
  readonly held?: HeldBytes | undefined;
}

export class YamuxSession {
  readonly #deps: YamuxDeps;
  readonly #streams = new Map<number, YamuxStream>();
  /** Opened in the packet that is being read. */
  #fresh: YamuxStream[] = [];
  #nextId: number;
  #inbound = 0;
  #unread = 0;
  readonly #held: HeldBytes;
  #ended: Error | undefined;

  #outbox: Uint8Array[] = [];
  #outboxSize = 0;
  #flushing = false;
  #blocked: PromiseWithResolvers<void> | undefined;

  readonly #header = Buffer.alloc(HEADER_SIZE);
  #headerFilled = 0;
  #bodyLeft = 0;
  readonly #framesAtOnce: number;
  #frames = 0;
  #bodyStream: YamuxStream | undefined;

  /**
   * @param options.client true on the dialling side: odd stream ids
   * @param options.framesAtOnce that `receive` reads; absent: all
   */
  constructor(options: { readonly client: boolean; readonly framesAtOnce?: number }, deps: YamuxDeps) {
    this.#deps = deps;
    this.#framesAtOnce = options.framesAtOnce ?? Number.POSITIVE_INFINITY;
    this.#held = deps.held ?? { count: 0 };
    this.#nextId = options.client ? 1 : 2;
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** @throws StreamError `STREAM_RESET` when the connection has ended or is full */
  open(): YamuxStream {
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#streams.size - this.#inbound >= OUTBOUND_STREAMS_MAX || this.#nextId > STREAM_ID_MAX) {
      throw new StreamError('STREAM_RESET', 'too many streams on this connection');
    }
    const stream = new YamuxStream(this, this.#nextId, FLAG.syn);
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /** A vanished other end is noticed by the missing answer. */
  ping(): void {
    this.frame(TYPE.ping, FLAG.syn, 0, 0);
  }

  /** Says that nothing follows, and writes what is queued. */
  goAway(): void {
    if (this.#ended !== undefined) return;
    this.frame(TYPE.goAway, 0, 0, 0);
    this.#flush();
  }

  /** The channel is gone. Safe to call twice. */
  end(reason: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = new StreamError('STREAM_RESET', 'the connection is closed', { cause: reason });
    this.#takeOutbox();
    this.#blocked?.resolve();
    this.#blocked = undefined;
    for (const stream of this.#streams.values()) stream.fail(this.#ended);
    // Bytes counted, then refused.
    this.unread(-this.#unread);
  }

  drained(): void {
    const blocked = this.#blocked;
    this.#blocked = undefined;
    blocked?.resolve();
    this.#flush();
  }

  room(): Promise<void> | undefined {
    return this.#blocked?.promise;
  }

  // ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** @returns bytes left for the next call, and how many frames opened a stream or brought data */
  receive(bytes: Uint8Array): { readonly rest: Uint8Array; readonly frames: number } {
    this.#frames = 0;
    let rest = NOTHING;
    try {
      rest = bytes.subarray(this.#parse(bytes));
    } catch (error) {
      this.#deps.broken(error as Error);
      return { rest: NOTHING, frames: this.#frames };
    }
    const fresh = this.#fresh;
    if (fresh.length > 0) {
      this.#fresh = [];
      for (const stream of fresh) this.#deps.accepted(stream);
    }
    return { rest, frames: this.#frames };
  }

  /** @returns bytes read; all of them once the connection has ended */
  #parse(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && this.#ended === undefined) {
      if (this.#bodyLeft > 0) at += this.#body(bytes.subarray(at, at + this.#bodyLeft));
      else if (this.#frames >= this.#framesAtOnce) return at;
      else at += this.#headerPart(bytes, at);
    }
    return bytes.length;
  }

  #body(part: Uint8Array): number {
    this.#bodyLeft -= part.length;
    this.#bodyStream?.arrive(part);
    return part.length;
  }

  #headerPart(bytes: Uint8Array, at: number): number {
    const taken = Math.min(HEADER_SIZE - this.#headerFilled, bytes.length - at);
    this.#header.set(bytes.subarray(at, at + taken), this.#headerFilled);
    this.#headerFilled += taken;
    if (this.#headerFilled === HEADER_SIZE) {
      this.#headerFilled = 0;
      this.#received(this.#header);
    }
    return taken;
  }

  #received(header: Buffer): void {
    const type = header.readUInt8(1);
    const flags = header.readUInt16BE(2);
    const id = header.readUInt32BE(4);
    const length = header.readUInt32BE(8);
    if (header.readUInt8(0) !== 0 || type > TYPE.goAway) throw violation('unknown frame');
    if (type === TYPE.ping) {
      if ((flags & FLAG.syn) !== 0) this.frame(TYPE.ping, FLAG.ack, 0, length);
      return;
    }
    // The other side closes the channel next.
    if (type === TYPE.goAway) return;
    const stream = (flags & FLAG.syn) !== 0 ? this.#accept(id) : this.#streams.get(id);
    if (type === TYPE.data) {
      if ((flags & FLAG.syn) === 0) this.#frames++;
      this.#bodyLeft = length;
      this.#bodyStream = stream;
      stream?.charge(length);
    } else stream?.grant(length);
    // A data frame may carry the last bytes and the end.
    if ((flags & (FLAG.fin | FLAG.rst)) !== 0) this.#endOf(stream, flags, type === TYPE.data ? length : 0);
  }

  #accept(id: number): YamuxStream | undefined {
    if (id % 2 === this.#nextId % 2 || id === 0 || this.#streams.has(id))
      throw violation('stream id of the wrong side');
    if (this.#inbound >= INBOUND_STREAMS_MAX) {
      this.frame(TYPE.windowUpdate, FLAG.rst, id, 0);
      return undefined;
    }
    const stream = new YamuxStream(this, id, FLAG.ack);
    this.#streams.set(id, stream);
    this.#inbound++;
    this.#frames++;
    this.#fresh.push(stream);
    return stream;
  }

  #endOf(stream: YamuxStream | undefined, flags: number, bodySize: number): void {
    if (stream === undefined) return;
    if ((flags & FLAG.rst) === 0) stream.endAfter(bodySize);
    else stream.breakOff(new StreamError('STREAM_RESET', 'the other side reset the stream'));
  }

  // ── what streams use ──────────────────────────────────────────────────────────────────────────────────────────────

  frame(type: number, flags: number, id: number, length: number, body?: Uint8Array): void {
    if (this.#ended !== undefined) return;
    const header = Buffer.allocUnsafe(HEADER_SIZE);
    header.writeUInt16BE(type, 0);
    header.writeUInt16BE(flags, 2);
    header.writeUInt32BE(id, 4);
    header.writeUInt32BE(length, 8);
    this.#outbox.push(header);
    if (body !== undefined) this.#outbox.push(body);
    const size = HEADER_SIZE + (body?.length ?? 0);
    this.#outboxSize += size;
    this.#held.count += size;
    if (this.#outboxSize >= OUTBOX_MAX && this.#blocked === undefined) this.#flush();
    else this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#blocked !== undefined) {
      const full =
        this.#outbox.length > OUTBOX_PIECES_MAX ||
        this.#outboxSize > OUTBOX_BYTES_MAX ||
        this.#isBeyond(this.#outboxSize);
      if (full) this.#breakOff(violation('the other side does not read'));
      return;
    }
    if (this.#flushing) return;
    this.#flushing = true;
    this.#deps.defer(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  /** Ends first: the owner's farewell cannot come here again. */
  #breakOff(reason: StreamError): void {
    this.end(reason);
    this.#deps.broken(reason);
  }

  /** Writes only what the channel takes, which no longer counts here. */
  #flush(): void {
    while (this.#blocked === undefined && this.#outbox.length > 0) {
      const bytes = Buffer.concat(this.#takeOutbox(OUTBOX_MAX));
      if (!this.#deps.send(bytes) && this.#ended === undefined) this.#blocked = Promise.withResolvers();
    }
  }

  /** @param enough bytes at which it stops @returns frames and bodies, oldest first */
  #takeOutbox(enough = Number.POSITIVE_INFINITY): Uint8Array[] {
    let count = 0;
    let size = 0;
    for (; count < this.#outbox.length && size < enough; count++) size += this.#outbox[count]?.length ?? 0;
    this.#held.count -= size;
    this.#outboxSize -= size;
    return this.#outbox.splice(0, count);
  }

  /** All links hold too much, and this one more than its share. */
  #isBeyond(bytes: number): boolean {
    return this.#held.count > HELD_MAX && bytes > HELD_SHARE;
  }

  /** Counts unread bytes of all streams. */
  unread(change: number): void {
    this.#unread += change;
    this.#held.count += change;
    // Not while it falls: ending streams bring it below the limit.
    if (change > 0 && (this.#unread > UNREAD_MAX || this.#isBeyond(this.#unread)))
      throw violation('too many unread bytes on one connection');
  }

  forget(stream: YamuxStream): void {
    if (this.#streams.delete(stream.id) && stream.id % 2 !== this.#nextId % 2) this.#inbound--;
  }
}

export class YamuxStream implements RawStream {
  readonly id: number;
  readonly #session: YamuxSession;
  readonly #inbox: Inbox;
  /** SYN or ACK, on the first frame sent. */
  #firstFlag: number;
  #sendWindow = WINDOW;
  #receiveWindow = WINDOW;
  /** Read, not yet returned as credit. */
  #consumed = 0;
  readonly #queue: Uint8Array[] = [];
  #roomInWindow: PromiseWithResolvers<void> | undefined;
  #closing = false;
  #closed = false;
  /** Bytes of the last data frame that are still to come; then the other side has ended. */
  #endsAfter: number | undefined;
  #remoteEnded = false;
  #failure: Error | undefined;

  constructor(session: YamuxSession, id: number, firstFlag: number) {
    this.#session = session;
    this.id = id;
    this.#firstFlag = firstFlag;
    this.#inbox = new Inbox((count) => this.#taken(count));
  }

  write(bytes: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closing) throw new StreamError('STREAM_RESET', 'our side of the stream is closed');
    this.#queue.push(bytes);
    this.#pump();
  }

  drained(): Promise<void> | undefined {
    return this.#obstacle() === undefined ? undefined : this.#drained();
  }

  async #drained(): Promise<void> {
    for (let wait = this.#obstacle(); wait !== undefined; wait = this.#obstacle()) await wait;
  }

  #obstacle(): Promise<void> | undefined {
    if (this.#failure !== undefined) return undefined;
    return this.#queue.length > 0 ? this.#window() : this.#session.room();
  }

  take(): Uint8Array | undefined {
    return this.#inbox.take();
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#inbox.read();
  }

  closeWrite(): void {
    if (this.#closing || this.#failure !== undefined) return;
    this.#closing = true;
    this.#pump();
  }

  reset(reason: Error): void {
    if (this.#failure !== undefined || (this.#closed && this.#remoteEnded)) return;
    this.#session.frame(TYPE.windowUpdate, FLAG.rst | this.#takeFirstFlag(), this.id, 0);
    this.fail(reason);
  }

  // ── what the session calls ────────────────────────────────────────────────────────────────────────────────────────

  charge(length: number): void {
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0) throw violation('more bytes than the window allows');
  }

  arrive(bytes: Uint8Array): void {
    // Bytes after the end are never taken from the inbox.
    if (this.#failure === undefined && !this.#remoteEnded) {
      this.#session.unread(bytes.length);
      this.#inbox.push(bytes);
    }
    if (this.#endsAfter !== undefined) this.endAfter(this.#endsAfter - bytes.length);
  }

  grant(length: number): void {
    this.#sendWindow += length;
    if (this.#sendWindow > STREAM_ID_MAX) throw violation('window beyond 32 bits');
    this.#pump();
  }

  endAfter(bodySize: number): void {
    this.#endsAfter = bodySize;
    if (bodySize > 0) return;
    this.#remoteEnded = true;
    this.#inbox.end();
    if (this.#closed) this.#session.forget(this);
  }

  /** What little it sent before, such as a refusal, can still be read. */
  breakOff(reason: Error): void {
    if (this.#inbox.size > UNREAD_AFTER_RESET_MAX) return this.fail(reason);
    this.#end(reason);
    this.#inbox.breakOff(reason);
  }

  fail(reason: Error): void {
    this.#end(reason);
    this.#inbox.fail(reason);
  }

  #end(reason: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#session.unread(-this.#inbox.size);
    this.#queue.length = 0;
    this.#roomInWindow?.resolve();
    this.#session.forget(this);
  }

  #pump(): void {
    if (this.#closed) return;
    for (let bytes = this.#queue[0]; bytes !== undefined; bytes = this.#queue[0]) {
      if (this.#sendWindow === 0) return;
      const part = bytes.length > this.#sendWindow ? bytes.subarray(0, this.#sendWindow) : bytes;
      this.#sendWindow -= part.length;
      this.#session.frame(TYPE.data, this.#takeFirstFlag(), this.id, part.length, part);
      if (part.length === bytes.length) this.#queue.shift();
      else this.#queue[0] = bytes.subarray(part.length);
    }
    this.#roomInWindow?.resolve();
    this.#roomInWindow = undefined;
    if (!this.#closing) return;
    this.#closed = true;
    this.#session.frame(TYPE.windowUpdate, FLAG.fin | this.#takeFirstFlag(), this.id, 0);
    if (this.#remoteEnded) this.#session.forget(this);
  }

  #takeFirstFlag(): number {
    const flag = this.#firstFlag;
    this.#firstFlag = 0;
    return flag;
  }

  #window(): Promise<void> {
    this.#roomInWindow ??= Promise.withResolvers();
    return this.#roomInWindow.promise;
  }

  #taken(count: number): void {
    if (this.#failure !== undefined) return;
    this.#session.unread(-count);
    this.#consumed += count;
    if (this.#consumed < CREDIT_MIN || this.#remoteEnded) return;
    this.#receiveWindow += this.#consumed;
    this.#session.frame(TYPE.windowUpdate, this.#takeFirstFlag(), this.id, this.#consumed);
    this.#consumed = 0;
  }
}

function violation(what: string): StreamError {
  return new StreamError('STREAM_RESET', `yamux: ${what}`);
}
