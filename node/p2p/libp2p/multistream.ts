/** multistream-select 1.0.0: uvarint length ‖ text ‖ newline. The opener proposes one id and continues at once. */
import { abortable } from '../../env/abortable.ts';
import { StreamError } from '../host.ts';
import { FrameReader } from '../stream/framing.ts';
import type { AcceptedStream, RawStream } from '../transport.ts';

const PROTOCOL = '/multistream/1.0.0';
const NOTHING = new Uint8Array(0);
const LINE_END = 0x0a;
const PROPOSAL_SIZE_MAX = 1024;
const PROPOSALS_MAX = 10;

/** Header and proposal as sent, by protocol id of this program. */
const proposals = new Map<string, Uint8Array>();

function encodeLine(text: string): Uint8Array {
  const line = Buffer.from(`${text}\n`);
  const prefix = line.length < 0x80 ? [line.length] : [(line.length & 0x7f) | 0x80, line.length >> 7];
  return Buffer.concat([Uint8Array.from(prefix), line]);
}

const HEADER_LINE = encodeLine(PROTOCOL);
const REFUSED = 'na';
const REFUSED_LINE = encodeLine(REFUSED);

/** As the opener sends them. Kept: for ids of this program only. */
export function proposalOf(protocolId: string): Uint8Array {
  const known = proposals.get(protocolId);
  if (known !== undefined) return known;
  const bytes = encodeProposal(protocolId);
  proposals.set(protocolId, bytes);
  return bytes;
}

/** As the acceptor sends them. Not kept: the other side may make up ids. */
function confirmationOf(protocolId: string): Uint8Array {
  return proposals.get(protocolId) ?? encodeProposal(protocolId);
}

function encodeProposal(protocolId: string): Uint8Array {
  return Buffer.concat([HEADER_LINE, encodeLine(protocolId)]);
}

/** Reads one negotiation's lines and keeps what follows. */
class Lines {
  readonly #frames = new FrameReader(PROPOSAL_SIZE_MAX);

  push(bytes: Uint8Array): void {
    this.#frames.push(bytes);
  }

  next(): string | undefined {
    const frame = this.#frames.next();
    if (frame === undefined) return undefined;
    const text = textOf(frame.bytes);
    if (!text.endsWith('\n')) throw new StreamError('STREAM_RESET', 'multistream: line without end');
    return text.slice(0, -1);
  }

  rest(): Uint8Array | undefined {
    return this.#frames.rest();
  }
}

/**
 * The proposal travels with the first write; the first read checks the answer.
 * @throws StreamError `PROTOCOL_UNSUPPORTED` from `read`
 */
export class ProposedStream implements RawStream {
  readonly #raw: RawStream;
  readonly #protocolId: string;
  #unsent: Uint8Array | undefined;
  #isAgreed = false;
  #lines: Lines | undefined;
  #headerSeen = false;
  /** Bytes after the answer in the same packet. */
  #early: Uint8Array | undefined;

  constructor(raw: RawStream, protocolId: string) {
    this.#raw = raw;
    this.#protocolId = protocolId;
    this.#unsent = proposalOf(protocolId);
  }

  write(bytes: Uint8Array): void {
    const proposal = this.#unsent;
    this.#unsent = undefined;
    if (proposal === undefined) this.#raw.write(bytes);
    else this.#raw.write(bytes.length === 0 ? proposal : Buffer.concat([proposal, bytes]));
  }

  drained(): Promise<void> | undefined {
    return this.#raw.drained();
  }

  take(): Uint8Array | undefined {
    while (!this.#isAgreed) {
      const bytes = this.#raw.take();
      if (bytes === undefined) return undefined;
      this.#negotiate(bytes);
    }
    const early = this.#early;
    this.#early = undefined;
    return early ?? this.#raw.take();
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#isAgreed && this.#early === undefined ? this.#raw.read() : this.#firstRead();
  }

  async #firstRead(): Promise<Uint8Array | undefined> {
    await this.agreed();
    return this.take() ?? this.#raw.read();
  }

  /** Sends the proposal if needed, and resolves when it is confirmed. */
  async agreed(): Promise<void> {
    this.#propose();
    while (!this.#isAgreed) {
      const bytes = await this.#raw.read();
      if (bytes === undefined)
        throw new StreamError('STREAM_ENDED', 'the other side closed during negotiation');
      this.#negotiate(bytes);
    }
  }

  #propose(): void {
    if (this.#unsent !== undefined) this.write(NOTHING);
  }

  closeWrite(): void {
    this.#propose();
    this.#raw.closeWrite();
  }

  reset(reason: Error): void {
    this.#raw.reset(reason);
  }

  #negotiate(bytes: Uint8Array): void {
    const expected = proposalOf(this.#protocolId);
    if (this.#lines === undefined && startsWith(bytes, expected)) {
      this.#isAgreed = true;
      if (bytes.length > expected.length) this.#early = bytes.subarray(expected.length);
      return;
    }
    this.#lines ??= new Lines();
    this.#negotiateByLine(this.#lines, bytes);
  }

  #negotiateByLine(lines: Lines, bytes: Uint8Array): void {
    lines.push(bytes);
    for (let line = lines.next(); line !== undefined; line = lines.next()) {
      if (!this.#headerSeen && line === PROTOCOL) this.#headerSeen = true;
      else if (this.#headerSeen && line === this.#protocolId) {
        this.#early = lines.rest();
        this.#isAgreed = true;
        return;
      } else throw new StreamError('PROTOCOL_UNSUPPORTED', `peer does not speak ${this.#protocolId}`);
    }
  }
}

/**
 * Proposes one after another on one stream. Nothing is sent before the answer: bytes after a refused proposal would be read
 * as the next one.
 * @param protocolIds best first, at least one @throws StreamError `PROTOCOL_UNSUPPORTED` when none is accepted
 */
export async function proposeInTurn(raw: RawStream, protocolIds: readonly string[]): Promise<AcceptedStream> {
  const lines = new Lines();
  const nextLine = async (): Promise<string> => {
    for (;;) {
      const line = lines.next();
      if (line !== undefined) return line;
      const bytes = await raw.read();
      if (bytes === undefined)
        throw new StreamError('STREAM_ENDED', 'the other side closed during negotiation');
      lines.push(bytes);
    }
  };
  for (const [turn, protocolId] of protocolIds.entries()) {
    raw.write(turn === 0 ? proposalOf(protocolId) : encodeLine(protocolId));
    if (turn === 0 && (await nextLine()) !== PROTOCOL) {
      throw new StreamError('STREAM_RESET', 'multistream: no header');
    }
    const answer = await nextLine();
    if (answer === protocolId) return { protocolId, stream: resumed(raw, lines.rest()) };
    if (answer !== REFUSED) throw new StreamError('STREAM_RESET', 'multistream: neither taken nor refused');
  }
  throw new StreamError('PROTOCOL_UNSUPPORTED', `peer does not speak ${protocolIds.join(' or ')}`);
}

/**
 * Answers proposals until one is supported.
 * @param deadline its signal is requested only when a wait is needed
 * @throws StreamError when the other side ends, breaks the format or proposes too much; the deadline's reason
 */
export async function acceptProtocol(
  raw: RawStream,
  supports: (id: string) => boolean,
  deadline: { readonly signal: AbortSignal },
): Promise<AcceptedStream> {
  const first = raw.take();
  const atOnce = first && acceptFirst(raw, first, supports);
  if (atOnce !== undefined) return atOnce;
  const lines = new Lines();
  if (first !== undefined) lines.push(first);
  // The header travels with the answer, unless the opener waits for it.
  let headerDue = false;
  for (let count = 0; count < PROPOSALS_MAX; ) {
    const line = lines.next();
    if (line === undefined) {
      if (headerDue) raw.write(HEADER_LINE);
      headerDue = false;
      const bytes = raw.take() ?? (await abortable(raw.read(), deadline.signal));
      if (bytes === undefined)
        throw new StreamError('STREAM_ENDED', 'the other side closed during negotiation');
      lines.push(bytes);
    } else if (line === PROTOCOL) {
      headerDue = true;
      count++;
    } else if (supports(line)) {
      raw.write(headerDue ? confirmationOf(line) : encodeLine(line));
      return { protocolId: line, stream: resumed(raw, lines.rest()) };
    } else {
      if (headerDue) raw.write(HEADER_LINE);
      headerDue = false;
      raw.write(REFUSED_LINE);
      count++;
    }
  }
  throw new StreamError('PROTOCOL_UNSUPPORTED', 'too many proposals');
}

/** Header and one supported proposal in the first packet; undefined for anything else. */
function acceptFirst(
  raw: RawStream,
  bytes: Uint8Array,
  supports: (id: string) => boolean,
): AcceptedStream | undefined {
  const start = HEADER_LINE.length + 1;
  const end = start + (bytes[HEADER_LINE.length] ?? 0);
  if (end - start >= 0x80 || bytes[end - 1] !== LINE_END || !startsWith(bytes, HEADER_LINE)) return undefined;
  const protocolId = textOf(bytes.subarray(start, end - 1));
  if (!supports(protocolId)) return undefined;
  raw.write(confirmationOf(protocolId));
  const stream = bytes.length === end ? raw : new ResumedStream(raw, bytes.subarray(end));
  return { protocolId, stream };
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (bytes[i] !== prefix[i]) return false;
  return true;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function resumed(raw: RawStream, rest: Uint8Array | undefined): RawStream {
  return rest === undefined ? raw : new ResumedStream(raw, rest);
}

/** A stream whose next bytes have been read already. */
class ResumedStream implements RawStream {
  readonly #raw: RawStream;
  #early: Uint8Array | undefined;

  constructor(raw: RawStream, early: Uint8Array) {
    this.#raw = raw;
    this.#early = early;
  }

  take(): Uint8Array | undefined {
    const early = this.#early;
    this.#early = undefined;
    return early ?? this.#raw.take();
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#early === undefined ? this.#raw.read() : Promise.resolve(this.take());
  }

  write(bytes: Uint8Array): void {
    this.#raw.write(bytes);
  }

  drained(): Promise<void> | undefined {
    return this.#raw.drained();
  }

  closeWrite(): void {
    this.#raw.closeWrite();
  }

  reset(reason: Error): void {
    this.#raw.reset(reason);
  }
}
