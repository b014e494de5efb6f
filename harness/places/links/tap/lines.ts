/** Cuts arrived bytes into lines of multistream-select and what follows. */

const LINE_MAX = 1024;
const LINE_END = 0x0a;

export const MULTISTREAM = '/multistream/1.0.0';
export const REFUSED = 'na';

export const PENDING = Symbol('pending');
export const NO_LINE = Symbol('no line');

export class Arrived {
  #bytes: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
  }

  get length(): number {
    return this.#bytes.length;
  }

  get first(): number | undefined {
    return this.#bytes[0];
  }

  beginsAs(bytes: Buffer): boolean {
    const count = Math.min(bytes.length, this.#bytes.length);
    return this.#bytes.compare(bytes, 0, count, 0, count) === 0;
  }

  rest(): Buffer {
    return this.take(this.#bytes.length);
  }

  take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count);
    this.#bytes = this.#bytes.subarray(count);
    return taken;
  }

  /** Two bytes of length, then the message, which is returned. */
  message(): Buffer | undefined {
    if (this.#bytes.length < 2) return undefined;
    const end = 2 + this.#bytes.readUInt16BE(0);
    return this.#bytes.length < end ? undefined : this.take(end).subarray(2);
  }

  line(): string | typeof PENDING | typeof NO_LINE {
    const [low, high] = this.#bytes;
    if (low === undefined) return PENDING;
    const isLong = low >= 0x80;
    if (isLong && high === undefined) return PENDING;
    const length = isLong ? (low & 0x7f) + 128 * (high ?? 0) : low;
    const end = (isLong ? 2 : 1) + length;
    if (length === 0 || length > LINE_MAX) return NO_LINE;
    if (this.#bytes.length < end) return PENDING;
    if (this.#bytes[end - 1] !== LINE_END) return NO_LINE;
    const line = this.take(end);
    return line.toString('latin1', isLong ? 2 : 1, end - 1);
  }
}

export function encodeLine(text: string): Buffer {
  const line = Buffer.from(`${text}\n`, 'latin1');
  const size = line.length < 0x80 ? [line.length] : [(line.length & 0x7f) | 0x80, line.length >> 7];
  return Buffer.concat([Uint8Array.from(size), line]);
}
