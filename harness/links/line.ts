/** When bytes sent in one direction of a link arrive: pure arithmetic, the same for sockets and in memory. */
import { createHash } from 'node:crypto';
import type { Shape } from './conditions.ts';

/** Payload of a packet on most networks. */
const PACKET_BYTES = 1448;
/** A slow line passes data in pieces of this duration, so that a large one does not arrive all at once. */
const PIECE_MS = 20;

export class Line {
  readonly #random: () => number;
  #freeAt = 0;
  #lastDue = 0;

  /** @param seed determines what is drawn */
  constructor(seed: string) {
    this.#random = uniform(seed);
  }

  /**
   * @param nowMs on any clock that does not go back
   * @returns when this many bytes sent now have arrived, on the same clock: never before earlier ones
   */
  due(nowMs: number, bytes: number, shape: Shape): number {
    let due = nowMs;
    if (Number.isFinite(shape.bytesPerSecond)) {
      this.#freeAt = Math.max(nowMs, this.#freeAt) + (bytes / shape.bytesPerSecond) * 1000;
      due = this.#freeAt;
    }
    const jitter = shape.jitterMs === 0 ? 0 : (this.#random() * 2 - 1) * shape.jitterMs;
    due += Math.max(0, shape.delayMs + jitter);
    if (shape.loss > 0 && bytes > 0) {
      const packets = Math.ceil(bytes / PACKET_BYTES);
      if (this.#random() > (1 - shape.loss) ** packets) due += shape.retransmitMs;
    }
    this.#lastDue = Math.max(this.#lastDue, due);
    return this.#lastDue;
  }

  /** What was sent so far holds up nothing more: the line has changed. */
  flush(nowMs: number): void {
    this.#freeAt = Math.min(this.#freeAt, nowMs);
    this.#lastDue = Math.min(this.#lastDue, nowMs);
  }
}

/** The largest piece that a line takes at once. */
export function pieceBytes({ bytesPerSecond }: Shape): number {
  return Math.max(PACKET_BYTES, Math.floor((bytesPerSecond * PIECE_MS) / 1000));
}

/** Numbers from 0 to below 1 that follow from a text. */
export function uniform(seed: string): () => number {
  // Zero would stay zero.
  let state = createHash('sha256').update(seed).digest().readUInt32LE() | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
