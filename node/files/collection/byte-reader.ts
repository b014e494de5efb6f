/** Pulls chosen amounts of bytes from a stream. */

const NOTHING = new Uint8Array(0);
const LINE_FEED = 0x0a;

export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = NOTHING;
  /** Requested from the source and not given yet. */
  #pending: Promise<IteratorResult<Uint8Array>> | undefined;
  #total = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  get total(): number {
    return this.#total;
  }

  async some(limit: number): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      this.#pending = this.#source.next();
      const next = await this.#pending;
      this.#pending = undefined;
      if (next.done === true) return undefined;
      this.#rest = next.value;
      this.#total += next.value.length;
    }
    const taken = this.#rest.subarray(0, limit);
    this.#rest = this.#rest.subarray(taken.length);
    return taken;
  }

  /** Fewer bytes when the stream ends early. */
  async take(length: number): Promise<Uint8Array> {
    const first = (await this.some(length)) ?? NOTHING;
    if (first.length === length || first.length === 0) return first;
    const taken = new Uint8Array(length);
    let filled = 0;
    for (let more: Uint8Array | undefined = first; more !== undefined && filled < length; ) {
      taken.set(more, filled);
      filled += more.length;
      more = filled < length ? await this.some(length - filled) : undefined;
    }
    return taken.subarray(0, filled);
  }

  /** Leaving early ends the source. */
  async *all(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (let part = await this.some(Number.POSITIVE_INFINITY); part !== undefined; ) {
        yield part;
        part = await this.some(Number.POSITIVE_INFINITY);
      }
    } finally {
      await this.end();
    }
  }

  /** @param cut the error for a stream that ends early */
  async *next(length: number, cut: () => Error): AsyncGenerator<Uint8Array, void, void> {
    for (let left = length; left > 0; ) {
      const piece = await this.some(left);
      if (piece === undefined) throw cut();
      left -= piece.length;
      yield piece;
    }
  }

  /** LF included; fewer bytes when the stream ends early. */
  async line(limit: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for (let left = limit; left > 0; ) {
      const part = await this.some(Number.POSITIVE_INFINITY);
      if (part === undefined) break;
      const end = part.indexOf(LINE_FEED) + 1;
      const taken = part.subarray(0, Math.min(end === 0 ? part.length : end, left));
      this.#rest = part.subarray(taken.length);
      pieces.push(taken);
      if (end > 0) break;
      left -= taken.length;
    }
    return Buffer.concat(pieces);
  }

  unread(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([bytes, this.#rest]);
  }

  /** The source ends as soon as it has given what it was asked for. */
  async end(): Promise<void> {
    if (this.#pending === undefined) await this.#source.return?.();
    // No reader is left for that part or for errors.
    else void Promise.allSettled([this.#pending.then(() => this.#source.return?.())]);
  }
}

/** Leaving it does not end the pieces. */
export function leaveOpen<T>(pieces: AsyncIterator<T>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => ({ next: () => pieces.next() }) };
}

export async function skip(pieces: AsyncIterator<unknown>): Promise<void> {
  while ((await pieces.next()).done !== true);
}
