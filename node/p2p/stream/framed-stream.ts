import { type Clock, TimeoutError } from '../../../formats/clock.ts';
import { abortable } from '../../env/abortable.ts';
import type { Tally } from '../../env/metric-series.ts';
import { decodeMessage, decodeOwned, encodeFrame } from '../codec/codec.ts';
import type { MessageOf, MessageTable } from '../codec/message.ts';
import { type Headers, type MessageStream, type Peer, StreamError } from '../host.ts';
import type { RawStream } from '../transport.ts';
import { FrameReader } from './framing.ts';

/** `p2p-protocols.md` 2.3. */
const FULL_CLOSE_MS = 30_000;

/** After this the other side counts as not reading. */
const WRITE_STALL_MS = 30_000;

/** Result of a write when the transport has room. */
const ROOM = Promise.resolve();

export interface StreamMeter {
  /** Bytes. */
  readonly sent: Tally;
  readonly received: Tally;
  readonly closed: Tally;
  readonly reset: Tally;
}

export class FramedStream {
  readonly #raw: RawStream;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  readonly #frames = new FrameReader();
  readonly #meter: StreamMeter | undefined;
  #ended = false;
  /** A read that an aborted caller left behind; the next one gets its bytes. */
  #pending: Promise<Uint8Array | undefined> | undefined;

  constructor(raw: RawStream, deps: { clock: Clock; signal?: AbortSignal | undefined; meter?: StreamMeter }) {
    this.#raw = raw;
    this.#clock = deps.clock;
    this.#signal = deps.signal;
    this.#meter = deps.meter;
  }

  async read<T extends MessageTable>(table: T, signal = this.#signal): Promise<MessageOf<T>> {
    for (;;) {
      const message = this.take(table);
      if (message !== undefined) return message;
      this.#pending ??= this.#raw.read();
      const bytes = await abortable(this.#pending, signal);
      this.#pending = undefined;
      if (bytes === undefined) throw new StreamError('STREAM_ENDED', 'the other side closed the stream');
      this.#arrived(bytes);
    }
  }

  take<T extends MessageTable>(table: T): MessageOf<T> | undefined {
    for (;;) {
      const frame = this.#frames.next();
      if (frame !== undefined) {
        return frame.owned ? decodeOwned(table, frame.bytes) : decodeMessage(table, frame.bytes);
      }
      const bytes = this.#pending === undefined ? this.#raw.take() : undefined;
      if (bytes === undefined) return undefined;
      this.#arrived(bytes);
    }
  }

  #arrived(bytes: Uint8Array): void {
    if (this.#meter !== undefined) this.#meter.received.value += bytes.length;
    this.#frames.push(bytes);
  }

  write<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Promise<void> {
    try {
      const frame = encodeFrame(table, message);
      if (this.#meter !== undefined) this.#meter.sent.value += frame.length;
      this.#raw.write(frame);
      const room = this.#raw.drained();
      return room === undefined ? ROOM : this.#within(room);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Without room in time the stream ends, and any pending write. */
  async #within(room: Promise<void>): Promise<void> {
    const stalled = Promise.withResolvers<never>();
    using _limit = this.#clock.timer(WRITE_STALL_MS, () => {
      const reason = new TimeoutError(WRITE_STALL_MS);
      this.#raw.reset(reason);
      stalled.reject(reason);
    });
    await Promise.race([room, stalled.promise]);
  }

  async close(): Promise<void> {
    const limit = this.#clock.timer(FULL_CLOSE_MS, () => this.#raw.reset(new TimeoutError(FULL_CLOSE_MS)));
    try {
      this.#raw.closeWrite();
      const early = this.#frames.buffered > 0;
      if (early || (await (this.#pending ?? this.#raw.read())) !== undefined) {
        throw new StreamError('STREAM_RESET', 'bytes instead of the end of the stream');
      }
      this.#countEnd('closed');
    } catch (error) {
      this.reset(error as Error);
      throw error;
    } finally {
      limit[Symbol.dispose]();
    }
  }

  reset(reason: Error): void {
    this.#countEnd('reset');
    this.#raw.reset(reason);
  }

  #countEnd(how: 'closed' | 'reset'): void {
    if (this.#meter !== undefined && !this.#ended) this.#meter[how].value++;
    this.#ended = true;
  }
}

/** One protocol, one peer, after the headers. */
export class PeerStream implements MessageStream {
  readonly peer: Peer;
  readonly headers: Headers;
  readonly #frames: FramedStream;

  constructor(peer: Peer, headers: Headers, frames: FramedStream) {
    this.peer = peer;
    this.headers = headers;
    this.#frames = frames;
  }

  read<T extends MessageTable>(table: T, signal?: AbortSignal): Promise<MessageOf<T>> {
    return this.#frames.read(table, signal);
  }

  write<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Promise<void> {
    return this.#frames.write(table, message);
  }

  close(): Promise<void> {
    return this.#frames.close();
  }

  reset(reason: Error): void {
    this.#frames.reset(reason);
  }
}
