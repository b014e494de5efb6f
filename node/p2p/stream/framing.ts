/** uvarint length ‖ message. `p2p-protocols.md` 2.1. */

import { StreamError } from '../host.ts';
import { compact } from './compact.ts';

/** Limit of the public network's readers. */
export const MESSAGE_SIZE_MAX = 131_072;
/** 131 072 needs three. */
const PREFIX_BYTES_MAX = 3;

export interface Frame {
  readonly bytes: Uint8Array;
  /** Memory of this frame alone, not a window into a network buffer. */
  readonly owned: boolean;
}

/** Cuts arriving bytes into frames; copies only those spread over several arrivals. */
export class FrameReader {
  readonly #limit: number;
  readonly #parts: Uint8Array[] = [];
  /** Bytes of the first part that are gone: a view per frame and prefix would cost more than the frame. */
  #gone = 0;
  #buffered = 0;

  constructor(limit = MESSAGE_SIZE_MAX) {
    this.#limit = limit;
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (this.#gone > 0) this.#parts[0] = this.#first();
    this.#gone = 0;
    this.#parts.push(bytes);
    this.#buffered += bytes.length;
    compact(this.#parts, this.#buffered);
  }

  get buffered(): number {
    return this.#buffered;
  }

  rest(): Uint8Array | undefined {
    return this.#buffered === 0 ? undefined : this.#take(this.#buffered).bytes;
  }

  /** Undefined until more bytes arrive. @throws StreamError `MESSAGE_TOO_LARGE` */
  next(): Frame | undefined {
    const prefix = this.#prefix();
    if (prefix === undefined || this.#buffered < prefix.size + prefix.length) return undefined;
    this.#drop(prefix.size);
    return this.#take(prefix.length);
  }

  #prefix(): { size: number; length: number } | undefined {
    let length = 0;
    for (let i = 0; i < PREFIX_BYTES_MAX; i++) {
      const byte = this.#at(i);
      if (byte === undefined) return undefined;
      length |= (byte & 0x7f) << (7 * i);
      if (byte >= 0x80) continue;
      if (length > this.#limit) break;
      return { size: i + 1, length };
    }
    throw new StreamError('MESSAGE_TOO_LARGE', `message longer than ${this.#limit} bytes`);
  }

  #at(index: number): number | undefined {
    let offset = this.#gone + index;
    for (const part of this.#parts) {
      if (offset < part.length) return part[offset];
      offset -= part.length;
    }
    return undefined;
  }

  #drop(count: number): void {
    this.#buffered -= count;
    this.#gone += count;
    for (
      let [first] = this.#parts;
      first !== undefined && this.#gone >= first.length;
      [first] = this.#parts
    ) {
      this.#gone -= first.length;
      this.#parts.shift();
    }
  }

  /** What is left of it. */
  #first(): Uint8Array {
    const first = this.#parts[0] as Uint8Array;
    return this.#gone === 0 ? first : first.subarray(this.#gone);
  }

  #take(length: number): Frame {
    const [first] = this.#parts;
    if (first === undefined || first.length - this.#gone >= length) {
      const bytes = first?.subarray(this.#gone, this.#gone + length) ?? new Uint8Array(0);
      this.#drop(length);
      return { bytes, owned: false };
    }
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const part = this.#first();
      const taken = part.length > length - filled ? part.subarray(0, length - filled) : part;
      bytes.set(taken, filled);
      filled += taken.length;
      this.#drop(taken.length);
    }
    return { bytes, owned: true };
  }
}
