/** Cuts what one end of a connection has sent into frames of yamux. It reads along only. */
import { StreamError } from '../../../../node/p2p/host.ts';

const HEADER_SIZE = 12;
export const YAMUX_TYPE = { data: 0, windowUpdate: 1, ping: 2, goAway: 3 } as const;
export const YAMUX_FLAG = { syn: 1, ack: 2, fin: 4, rst: 8 } as const;

export interface YamuxEvents {
  /** A frame of a stream that opens it. */
  opened(id: number): void;
  /** Part of what a data frame carries. */
  data(id: number, bytes: Buffer): void;
  /** After what the frame carries. */
  ended(id: number): void;
  reset(id: number): void;
}

export class YamuxFrames {
  readonly #events: YamuxEvents;
  readonly #header = Buffer.alloc(HEADER_SIZE);
  #filled = 0;
  #id = 0;
  #flags = 0;
  /** Bytes of the data frame that are still to come. */
  #left = 0;

  constructor(events: YamuxEvents) {
    this.#events = events;
  }

  /** @throws StreamError for what is no yamux */
  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const part = bytes.subarray(at, at + this.#left);
        at += part.length;
        this.#left -= part.length;
        this.#events.data(this.#id, part);
        if (this.#left === 0) this.#finish();
      } else {
        const taken = bytes.copy(this.#header, this.#filled, at);
        at += taken;
        this.#filled += taken;
        if (this.#filled === HEADER_SIZE) this.#begin();
      }
    }
  }

  #begin(): void {
    this.#filled = 0;
    const type = this.#header.readUInt8(1);
    if (this.#header.readUInt8(0) !== 0 || type > YAMUX_TYPE.goAway) {
      throw new StreamError('STREAM_RESET', 'yamux: unknown frame');
    }
    if (type === YAMUX_TYPE.ping || type === YAMUX_TYPE.goAway) return;
    this.#flags = this.#header.readUInt16BE(2);
    this.#id = this.#header.readUInt32BE(4);
    if ((this.#flags & YAMUX_FLAG.syn) !== 0) this.#events.opened(this.#id);
    this.#left = type === YAMUX_TYPE.data ? this.#header.readUInt32BE(8) : 0;
    if (this.#left === 0) this.#finish();
  }

  #finish(): void {
    if ((this.#flags & YAMUX_FLAG.rst) !== 0) this.#events.reset(this.#id);
    else if ((this.#flags & YAMUX_FLAG.fin) !== 0) this.#events.ended(this.#id);
  }
}
