/**
 * Of an HTTP/1.1 server to requests with a body, as they come in pieces. RFC 9112, without cases that our requests cannot
 * cause: answers to HEAD, and compressed ones.
 */

/** The status line and headers. */
const HEAD_SIZE_MAX = 64 * 1024;
/** A line of a chunked body: the size of a part with its extensions, or one after the last part. */
const LINE_SIZE_MAX = 1024;
const HEAD_END = '\r\n\r\n';
const LINE_END = '\r\n';

export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly reusable: boolean;
}

export class HttpAnswerError extends Error {
  override readonly name = 'HttpAnswerError';
}

interface Head {
  readonly status: number;
  readonly persistent: boolean;
  readonly fields: ReadonlyMap<string, string>;
}

export class HttpAnswerReader {
  readonly #bodySizeMax: number;
  #head: Head | undefined;
  #pending: Buffer = Buffer.alloc(0);
  readonly #parts: Buffer[] = [];
  #size = 0;
  #missing = 0;
  #state: 'head' | 'length' | 'until-end' | 'part-size' | 'part' | 'part-end' | 'trailer' = 'head';

  constructor(bodySizeMax: number) {
    this.#bodySizeMax = bodySizeMax;
  }

  /** @returns the answer when this piece completes it @throws HttpAnswerError */
  push(piece: Buffer): HttpAnswer | undefined {
    this.#pending = this.#pending.length === 0 ? piece : Buffer.concat([this.#pending, piece]);
    for (;;) {
      const before = this.#state;
      const left = this.#pending.length;
      if (this.#step()) return this.#answer({ open: true });
      if (this.#state === before && this.#pending.length === left) return undefined;
    }
  }

  /** Nothing more comes. @throws Error when part of the answer is missing */
  end(): HttpAnswer {
    if (this.#state === 'until-end') return this.#answer({ open: false });
    throw new Error('the connection ended before the answer did');
  }

  #answer({ open }: { readonly open: boolean }): HttpAnswer {
    const { status, persistent, fields } = this.#head as Head;
    const closes = /\bclose\b/i.test(fields.get('connection') ?? '');
    const reusable = open && persistent && !closes && this.#pending.length === 0;
    return { status, body: Buffer.concat(this.#parts), reusable };
  }

  #step(): boolean {
    switch (this.#state) {
      case 'head':
        return this.#readHead();
      case 'length':
      case 'part':
        return this.#readBytes();
      case 'until-end':
        this.#missing = this.#pending.length;
        this.#take();
        return false;
      default:
        return this.#readLine();
    }
  }

  #readHead(): boolean {
    const end = this.#pending.indexOf(HEAD_END);
    if (end === -1) {
      if (this.#pending.length > HEAD_SIZE_MAX)
        throw new HttpAnswerError(`headers are longer than ${HEAD_SIZE_MAX} bytes`);
      return false;
    }
    const head = parseHead(this.#pending.toString('latin1', 0, end));
    this.#pending = this.#pending.subarray(end + HEAD_END.length);
    // "Go on": the answer itself follows.
    if (head.status < 200) return false;
    this.#head = head;
    // These end with their headers, whatever those say about a body.
    if (head.status === 204 || head.status === 304) return true;
    const encoding = head.fields.get('transfer-encoding')?.toLowerCase();
    const length = head.fields.get('content-length');
    if (encoding !== undefined) {
      if (encoding !== 'chunked')
        throw new HttpAnswerError(`transfer encoding '${encoding}', expected chunked`);
      this.#state = 'part-size';
      return false;
    }
    if (length === undefined) {
      this.#state = 'until-end';
      return false;
    }
    if (!/^\d{1,15}$/.test(length))
      throw new HttpAnswerError(`content length '${length}', expected a number`);
    this.#state = 'length';
    this.#expect(Number(length));
    return this.#missing === 0;
  }

  #readBytes(): boolean {
    this.#take();
    if (this.#missing > 0) return false;
    if (this.#state === 'length') return true;
    this.#state = 'part-end';
    return false;
  }

  #readLine(): boolean {
    const end = this.#pending.indexOf(LINE_END);
    if (end === -1 || end > LINE_SIZE_MAX) {
      if (this.#pending.length > LINE_SIZE_MAX) throw new HttpAnswerError('a part without its size');
      return false;
    }
    const line = this.#pending.toString('latin1', 0, end);
    this.#pending = this.#pending.subarray(end + LINE_END.length);
    if (this.#state === 'trailer') return line === '';
    if (this.#state === 'part-end') {
      if (line !== '') throw new HttpAnswerError('a part is longer than its size');
      this.#state = 'part-size';
      return false;
    }
    const size = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
    if (size === undefined) throw new HttpAnswerError('a part without its size');
    this.#expect(Number.parseInt(size, 16));
    this.#state = this.#missing === 0 ? 'trailer' : 'part';
    return false;
  }

  #expect(size: number): void {
    this.#checkSize(this.#size + size);
    this.#missing = size;
  }

  #take(): void {
    const taken = this.#pending.subarray(0, this.#missing);
    if (taken.length === 0) return;
    this.#checkSize(this.#size + taken.length);
    this.#pending = this.#pending.subarray(taken.length);
    this.#missing -= taken.length;
    this.#size += taken.length;
    this.#parts.push(taken);
  }

  #checkSize(size: number): void {
    if (size > this.#bodySizeMax)
      throw new HttpAnswerError(`answer is longer than ${this.#bodySizeMax} bytes`);
  }
}

/** Names are in lower case; the last of repeated fields counts. */
function parseHead(text: string): Head {
  const [first = '', ...lines] = text.split(LINE_END);
  const [, version, status] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first) ?? [];
  if (status === undefined) throw new HttpAnswerError('what answers is no HTTP server');
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) throw new HttpAnswerError('a header without a name');
    fields.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { status: Number(status), persistent: version === '1', fields };
}
