import type { Clock } from '../../../formats/clock.ts';
import { decodeMessage, encodeFrame } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import { StreamError } from '../../../node/p2p/host.ts';
import { FrameReader } from '../../../node/p2p/stream/framing.ts';
import { HeadersMessage, headersMessage, headersOf } from '../../../node/p2p/stream/headers.ts';
import type { RawStream } from '../../../node/p2p/transport.ts';
import { orLate } from '../../base/wait.ts';
import { Mismatch, must } from '../row.ts';
import { hexText, messageText, type Transcript } from './transcript.ts';

/** Nodes answer within seconds; this long means that one hangs. */
export const ANSWER_MS = 10_000;
/** A row judges the frames' length. */
const FRAME_SIZE_MAX = 2 ** 20;

/** `gone`: the connection ended, too. */
export type Next =
  | { readonly kind: 'frame'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' | 'reset' | 'gone' | 'silence' };

const REACTIONS: Readonly<Record<Next['kind'], string>> = {
  frame: 'answered with a message',
  end: 'closed the stream',
  reset: 'reset the stream',
  gone: 'closed the connection',
  silence: 'did not answer',
};

export class Conversation {
  readonly #raw: RawStream;
  readonly #log: Transcript;
  readonly #isGone: () => boolean;
  readonly #clock: Clock;
  readonly #frames = new FrameReader(FRAME_SIZE_MAX);
  #pending: Promise<Uint8Array | undefined> | undefined;

  constructor(
    raw: RawStream,
    log: Transcript,
    { isGone, clock }: { readonly isGone: () => boolean; readonly clock: Clock },
  ) {
    this.#raw = raw;
    this.#log = log;
    this.#isGone = isGone;
    this.#clock = clock;
  }

  send<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>, name: string): void {
    this.#log.sent(`${name} ${messageText(message)}`, name);
    this.#write(encodeFrame(table, message));
  }

  sendBytes(bytes: Uint8Array, what: string): void {
    this.#log.sent(`${what}: ${hexText(bytes)}`);
    this.#write(bytes);
  }

  /** A stream that the node has ended accepts no more; what is read tells what the node did. */
  #write(bytes: Uint8Array): void {
    try {
      this.#raw.write(bytes);
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      this.#log.received(`not sent: ${error.message}`);
    }
  }

  end(): void {
    this.#log.sent('end');
    this.#raw.closeWrite();
  }

  reset(): void {
    this.#log.sent('reset');
    this.#raw.reset(new StreamError('STREAM_RESET', 'the checker resets the stream'));
  }

  /** Ours first. @throws Mismatch */
  async exchangeHeaders(headers: ReadonlyMap<string, Uint8Array> = new Map()) {
    this.send(HeadersMessage, headersMessage(headers), 'Headers');
    return headersOf(await this.receive(HeadersMessage, 'Headers'));
  }

  async receive<T extends MessageTable>(table: T, name: string, withinMs = ANSWER_MS): Promise<MessageOf<T>> {
    const next = await this.next(withinMs);
    if (next.kind !== 'frame')
      throw new Mismatch(`expected ${name}, but the node ${REACTIONS[next.kind]}${after(next, withinMs)}`);
    return this.#decoded(table, name, next.bytes);
  }

  /** It may span frames; the end follows. @throws Mismatch */
  async receiveParts<T extends MessageTable>(
    table: T,
    name: string,
    partsMax: number,
  ): Promise<MessageOf<T>> {
    const parts: Uint8Array[] = [];
    let next = await this.next();
    for (; next.kind === 'frame' && parts.length < partsMax; next = await this.next()) parts.push(next.bytes);
    if (parts.length === 0) throw new Mismatch(`expected ${name}, but the node ${REACTIONS[next.kind]}`);
    return this.#decoded(table, name, new Uint8Array(Buffer.concat(parts)));
  }

  #decoded<T extends MessageTable>(table: T, name: string, bytes: Uint8Array): MessageOf<T> {
    try {
      const message = decodeMessage(table, bytes);
      this.#log.received(`${name} ${messageText(message)}`);
      return message;
    } catch (error) {
      throw new Mismatch(`expected ${name}, got ${hexText(bytes)}: ${(error as Error).message}`);
    }
  }

  /** Bytes without frames. @throws Mismatch */
  async bytes(count: number, withinMs = ANSWER_MS): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    const until = this.#clock.monotonic() + withinMs;
    for (let left = count; left > 0; ) {
      const part = await this.#read(until - this.#clock.monotonic());
      if (!(part instanceof Uint8Array))
        throw new Mismatch(`expected ${left} more bytes, but the node ${REACTIONS[part.kind]}`);
      parts.push(part);
      left -= part.length;
    }
    const bytes = new Uint8Array(Buffer.concat(parts));
    this.#log.received(hexText(bytes));
    return bytes;
  }

  async expectEnd(withinMs = ANSWER_MS): Promise<void> {
    await this.#expect(['end'], 'expected the end of the stream', withinMs);
  }

  /** The node ends stream or connection. @throws Mismatch */
  async expectRefusal(what: string, withinMs = ANSWER_MS): Promise<void> {
    await this.#expect(['reset', 'gone'], `expected a reset: ${what}`, withinMs);
  }

  /** Any end will do. @throws Mismatch */
  async expectNoAnswer(what: string, withinMs = ANSWER_MS): Promise<void> {
    await this.#expect(['end', 'reset', 'gone'], `expected no answer to ${what}`, withinMs);
  }

  async expectGivenUp(withinMs: number): Promise<void> {
    const next = await this.next(withinMs);
    this.record(next);
    const isGivenUp = next.kind === 'reset' || next.kind === 'gone';
    must(isGivenUp, `the stream was still open after ${withinMs} ms`);
  }

  async #expect(kinds: readonly Next['kind'][], why: string, withinMs: number): Promise<void> {
    const next = await this.next(withinMs);
    this.record(next);
    if (!kinds.includes(next.kind)) {
      throw new Mismatch(`${why}, but the node ${REACTIONS[next.kind]}${after(next, withinMs)}`);
    }
  }

  record(next: Next): void {
    this.#log.received(next.kind === 'frame' ? hexText(next.bytes) : next.kind);
  }

  async next(withinMs = ANSWER_MS): Promise<Next> {
    const until = this.#clock.monotonic() + withinMs;
    for (;;) {
      const frame = this.#frames.next();
      if (frame !== undefined) return { kind: 'frame', bytes: new Uint8Array(frame.bytes) };
      const bytes = await this.#read(until - this.#clock.monotonic());
      if (!(bytes instanceof Uint8Array)) return bytes;
      this.#frames.push(bytes);
    }
  }

  async #read(withinMs: number): Promise<Uint8Array | Next> {
    this.#pending ??= this.#raw.read();
    const silence: Next = { kind: 'silence' };
    try {
      const bytes = await orLate(this.#pending, { clock: this.#clock, ms: withinMs, late: silence });
      if (bytes instanceof Uint8Array || bytes === undefined) this.#pending = undefined;
      return bytes ?? { kind: this.#isGone() ? 'gone' : 'end' };
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      this.#pending = undefined;
      // Streams hear of the connection's end first.
      await this.#clock.turn();
      return { kind: this.#isGone() ? 'gone' : 'reset' };
    }
  }
}

function after({ kind }: Next, ms: number): string {
  return kind === 'silence' ? ` within ${ms} ms` : '';
}
