/** Cuts what one end has sent into frames of yamux. */

export const YAMUX_HEADER_SIZE = 12;
export const YAMUX_TYPE = { data: 0, windowUpdate: 1, ping: 2, goAway: 3 } as const;
export const YAMUX_FLAG = { syn: 1, ack: 2, fin: 4, rst: 8 } as const;

export interface YamuxFrame {
  readonly type: number;
  readonly flags: number;
  /** 0: about the connection. */
  readonly id: number;
  /** Of the bytes that follow, or credit. */
  readonly length: number;
}

export interface YamuxEvents {
  /** @param header its bytes, until the next frame begins */
  begun(frame: YamuxFrame, header: Buffer): void;
  data(frame: YamuxFrame, bytes: Buffer): void;
  over(frame: YamuxFrame): void;
  /** Bytes from where a frame should begin; nothing follows. */
  unknown(bytes: Buffer): void;
}

export class YamuxFrames {
  readonly #events: YamuxEvents;
  readonly #header = Buffer.alloc(YAMUX_HEADER_SIZE);
  #filled = 0;
  #frame: YamuxFrame | undefined;
  #left = 0;

  constructor(events: YamuxEvents) {
    this.#events = events;
  }

  get filled(): number {
    return this.#filled;
  }

  /** The last frame has come as a whole, and nothing of the next one. */
  get isBetween(): boolean {
    return this.#filled === 0 && this.#frame === undefined;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#frame !== undefined) {
        const part = bytes.subarray(at, at + this.#left);
        at += part.length;
        this.#left -= part.length;
        this.#events.data(this.#frame, part);
        this.#endIfComplete();
      } else {
        const taken = bytes.copy(this.#header, this.#filled, at);
        at += taken;
        this.#filled += taken;
        if (this.#filled < YAMUX_HEADER_SIZE) return;
        this.#filled = 0;
        if (!this.#begin()) return this.#events.unknown(Buffer.concat([this.#header, bytes.subarray(at)]));
      }
    }
  }

  #begin(): boolean {
    const header = this.#header;
    const type = header.readUInt8(1);
    if (header.readUInt8(0) !== 0 || type > YAMUX_TYPE.goAway) return false;
    const frame = {
      type,
      flags: header.readUInt16BE(2),
      id: header.readUInt32BE(4),
      length: header.readUInt32BE(8),
    };
    this.#frame = frame;
    this.#left = type === YAMUX_TYPE.data ? frame.length : 0;
    this.#events.begun(frame, header);
    this.#endIfComplete();
    return true;
  }

  #endIfComplete(): void {
    const frame = this.#frame;
    if (this.#left > 0 || frame === undefined) return;
    this.#frame = undefined;
    this.#events.over(frame);
  }
}

export function yamuxHeader({ type, flags, id, length }: YamuxFrame): Buffer {
  const header = Buffer.alloc(YAMUX_HEADER_SIZE);
  header.writeUInt8(type, 1);
  header.writeUInt16BE(flags, 2);
  header.writeUInt32BE(id, 4);
  header.writeUInt32BE(length, 8);
  return header;
}
