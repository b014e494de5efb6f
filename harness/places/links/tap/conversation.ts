/**
 * One stream as it passes: protocol, headers, messages, end. What it cannot decode is shown as bytes. It only reads along,
 * unless the stream is diverted: then it hands on all that is said, message by message.
 */
import { ChunkError } from '../../../../formats/chunk/errors.ts';
import { chunkFrom } from '../../../../formats/chunk/validate.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { decodeOwned } from '../../../../node/p2p/codec/codec.ts';
import type { MessageTable } from '../../../../node/p2p/codec/message.ts';
import { FrameReader } from '../../../../node/p2p/stream/framing.ts';
import { HeadersMessage } from '../../../../node/p2p/stream/headers.ts';
import { FAULT_SEPARATOR, type TapEvent, type TapValue } from './events.ts';
import { type DivertedStream, withLength } from './faults/diverted-stream.ts';
import { Arrived, encodeLine, MULTISTREAM, NO_LINE, REFUSED } from './lines.ts';
import { type MessageRow, type ProtocolRow, protocolOf } from './protocols.ts';
import { beginning, type Names, shown } from './values.ts';

export interface ConversationDeps {
  readonly stream: string;
  readonly opener: string;
  readonly acceptor: string;
  readonly names: Names;
  readonly now: () => number;
  /** @param raw what was said; only until it returns */
  readonly emit: (event: TapEvent, raw?: Uint8Array) => void;
  /** Receives all that is said; absent: it passes by itself. */
  readonly diverted?: DivertedStream | undefined;
  /** What its opener says was said before, on another stream. */
  readonly isReplay?: boolean | undefined;
}

class Side {
  readonly isOpener: boolean;
  readonly arrived = new Arrived();
  readonly frames = new FrameReader();
  count = 0;
  hasHeaders = false;
  isRaw = false;
  hasEnded = false;

  constructor(isOpener: boolean) {
    this.isOpener = isOpener;
  }
}

type Fields = Record<string, TapValue>;

export class Conversation {
  readonly #deps: ConversationDeps;
  readonly #opener = new Side(true);
  readonly #acceptor = new Side(false);
  /** What the opener has proposed last, and whether it was taken. */
  #id = 'unknown';
  #isAgreed = false;
  #row: ProtocolRow | undefined;
  #address: Uint8Array | undefined;
  #bytes = 0;
  #openedAt: number | undefined;
  /** What the acceptor is to have said, once it has said what comes before. */
  #answer: Buffer | undefined;
  /** What the acceptor says is said in its place. */
  #isTakenOver = false;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
  }

  agreed(id: string): void {
    this.#isAgreed = true;
    this.#open(this.#opener, id);
  }

  take(isOpener: boolean, bytes: Buffer): void {
    const side = isOpener ? this.#opener : this.#acceptor;
    this.#bytes += bytes.length;
    if (isOpener ? this.#openedAt !== undefined : this.#isAgreed) this.#said(side, bytes);
    else {
      side.arrived.push(bytes);
      if (isOpener) this.#proposals(side);
      else this.#answers(side);
      this.#answerInPlace();
    }
  }

  get isOver(): boolean {
    return this.#opener.hasEnded && this.#acceptor.hasEnded;
  }

  /** @returns whether both ends have */
  ended(isOpener: boolean): boolean {
    const side = isOpener ? this.#opener : this.#acceptor;
    side.hasEnded = true;
    // What is not complete never will be.
    this.#handOn(side, side.arrived.rest());
    if (this.#deps.diverted !== undefined) this.#handOn(side, side.frames.rest());
    if (this.isOver) this.end(isOpener, 'closed');
    return this.isOver;
  }

  end(isOpener: boolean, name: string): void {
    // A stream whose protocol is not known yet has said nothing, and one that was refused has ended.
    if (this.#openedAt === undefined) return;
    const ms = this.#deps.now() - this.#openedAt;
    this.#tell(isOpener ? this.#opener : this.#acceptor, 'end', { name, fields: { ms }, bytes: this.#bytes });
  }

  /** Lines until it goes on without waiting for the answer, or has heard it. */
  #proposals(side: Side): void {
    while (side.arrived.length > 0) {
      // After a proposal, what is no line is said in the protocol, and so is everything once that is taken.
      const line = this.#isAgreed || this.#openedAt !== undefined ? NO_LINE : side.arrived.line();
      if (line === NO_LINE) return this.#said(side, side.arrived.rest());
      if (typeof line !== 'string') return;
      this.#handOnLine(side, line);
      if (line === MULTISTREAM) continue;
      this.#open(side, line);
    }
  }

  #open(side: Side, id: string): void {
    this.#id = id;
    this.#row = protocolOf(id);
    this.#openedAt = this.#deps.now();
    this.#tell(side, 'opened', { name: '', fields: {}, bytes: 0 });
  }

  #answers(side: Side): void {
    while (side.arrived.length > 0) {
      const line = this.#isAgreed ? NO_LINE : side.arrived.line();
      if (line === NO_LINE) {
        this.#isAgreed = true;
        return this.#said(side, side.arrived.rest());
      }
      if (typeof line !== 'string') return;
      this.#handOnLine(side, line);
      if (line === REFUSED) {
        this.end(false, 'refused');
        this.#openedAt = undefined;
      } else if (line !== MULTISTREAM) this.#isAgreed = true;
    }
  }

  #said(side: Side, bytes: Buffer): void {
    if (side.isRaw || this.#row === undefined || this.#row.raw !== undefined) return this.#raw(side, bytes);
    side.frames.push(bytes);
    try {
      for (let frame = side.frames.next(); frame !== undefined; frame = side.frames.next()) {
        this.#frame(side, this.#row, frame.bytes);
        this.#answerInPlace();
      }
    } catch (error) {
      // Too long: where it ends is not known.
      side.isRaw = true;
      const rest = side.frames.rest() ?? Buffer.alloc(0);
      this.#handOn(side, rest);
      this.#undecodable(side, rest, error as Error);
    }
  }

  #answerInPlace(): void {
    const answer = this.#answer;
    const isReady = this.#isAgreed && (this.#row?.headers !== true || this.#acceptor.hasHeaders);
    if (answer === undefined || !isReady) return;
    this.#answer = undefined;
    this.#isTakenOver = true;
    const { diverted } = this.#deps;
    diverted?.takeOver();
    // What it has begun to say is not said.
    this.#acceptor.frames.rest();
    this.take(false, answer);
    this.ended(false);
    diverted?.ended(false);
  }

  #handOnLine({ isOpener }: Side, line: string): void {
    this.#deps.diverted?.raw(isOpener, encodeLine(line));
  }

  #handOn({ isOpener }: Side, bytes: Uint8Array | undefined): void {
    if (bytes !== undefined) this.#deps.diverted?.raw(isOpener, bytes);
  }

  #raw(side: Side, bytes: Uint8Array): void {
    this.#handOn(side, bytes);
    const name = this.#row?.raw ?? 'bytes';
    this.#spoken(side, 'message', { name, fields: { bytes: beginning(bytes) } }, bytes);
  }

  #frame(side: Side, row: ProtocolRow, bytes: Uint8Array): void {
    try {
      if (row.headers && !side.hasHeaders) {
        side.hasHeaders = true;
        this.#headers(side, row, bytes);
        return;
      }
      const rows = side.isOpener ? row.opener : row.acceptor;
      const message = rows[Math.min(side.count++, rows.length - 1)];
      if (message === undefined) throw new TypeError('this end says nothing in this protocol');
      this.#message(side, message, bytes);
    } catch (error) {
      this.#deps.diverted?.untouched(side.isOpener, bytes);
      this.#undecodable(side, bytes, error as Error);
    }
  }

  #headers(side: Side, { show = {} }: ProtocolRow, bytes: Uint8Array): void {
    const { headers } = decodeOwned(HeadersMessage, bytes);
    this.#deps.diverted?.untouched(side.isOpener, bytes);
    if (headers.length === 0) return;
    const values = Object.fromEntries(headers.map(({ key, value }) => [key, value]));
    const fields = shown(values, this.#deps.names, show);
    this.#spoken(side, 'headers', { name: '', fields }, bytes);
  }

  #message(side: Side, { name, table, show = {} }: MessageRow, bytes: Uint8Array): void {
    // Views: nothing of it outlives this call, but for an address.
    const decoded: Readonly<Record<string, unknown>> = decodeOwned(table, bytes);
    const fields: Fields = shown(decoded, this.#deps.names, show);
    if (decoded['addr'] instanceof Uint8Array) this.#address ??= Uint8Array.from(decoded['addr']);
    const address = this.#address;
    const isNamed = fields['data'] === undefined || fields['address'] !== undefined;
    const named: Fields = isNamed || address === undefined ? fields : { address: toHex(address), ...fields };
    const about: Fields = isWrong(decoded, address) ? { ...named, invalid: true } : named;
    const done = this.#origin(side);
    const { diverted } = this.#deps;
    if (diverted !== undefined) {
      const protocol = this.#row?.name ?? this.#id;
      const what = { protocol, message: name, table, decoded, address, awaited: this.#awaited(side) };
      const verdict = diverted.message(side.isOpener, bytes, what);
      if (verdict.answer !== undefined) this.#answer = withLength(verdict.answer);
      done.push(...verdict.done);
    }
    const told = done.length === 0 ? about : { ...about, fault: done.join(FAULT_SEPARATOR) };
    this.#spoken(side, 'message', { name, fields: told }, bytes);
  }

  /** What the message just said asks the acceptor for. */
  #awaited({ isOpener, count }: Side): MessageTable | undefined {
    const { count: said, isRaw, hasEnded } = this.#acceptor;
    const isNext = isOpener && said === count - 1 && !isRaw && !hasEnded;
    return isNext ? this.#row?.acceptor[said]?.table : undefined;
  }

  #origin({ isOpener }: Side): string[] {
    if (isOpener) return this.#deps.isReplay === true ? ['replayed'] : [];
    return this.#isTakenOver ? ['made up'] : [];
  }

  #undecodable(side: Side, bytes: Uint8Array, { message: reason }: Error): void {
    const fields = { reason, bytes: beginning(bytes) };
    this.#spoken(side, 'message', { name: 'undecodable', fields }, bytes);
  }

  #spoken(
    side: Side,
    kind: TapEvent['kind'],
    what: Pick<TapEvent, 'name' | 'fields'>,
    raw: Uint8Array,
  ): void {
    this.#tell(side, kind, { ...what, bytes: raw.length }, raw);
  }

  #tell(
    { isOpener }: Side,
    kind: TapEvent['kind'],
    what: Pick<TapEvent, 'name' | 'fields' | 'bytes'>,
    raw?: Uint8Array,
  ): void {
    const { stream, opener, acceptor, now, emit } = this.#deps;
    const [from, to] = isOpener ? [opener, acceptor] : [acceptor, opener];
    const protocol = this.#row?.name ?? this.#id;
    emit({ at: now(), from, to, stream, protocol, id: this.#id, kind, ...what }, raw);
  }
}

/** It carries what is not the chunk that it is said to be. @param asked address that the other end has asked for */
function isWrong(message: Readonly<Record<string, unknown>>, asked: Uint8Array | undefined): boolean {
  const { address = asked, data } = message;
  if (!(data instanceof Uint8Array && address instanceof Uint8Array) || data.length === 0) return false;
  try {
    chunkFrom(address, data);
    return false;
  } catch (error) {
    if (error instanceof ChunkError) return true;
    throw error;
  }
}
