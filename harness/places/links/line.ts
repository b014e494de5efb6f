/** When bytes sent one way arrive: pure arithmetic, for sockets and memory. */
import { createHash } from 'node:crypto';
import type { Shape } from './conditions.ts';

const PACKET_BYTES = 1448;
/** A slow line passes pieces of this duration, so large data does not arrive at once. */
const PIECE_MS = 20;

export interface Sent {
  readonly bytes: number;
  readonly readyAt: number;
  leavesAt: number;
  /** Never before earlier ones. */
  dueAt: number;
  /** From 0 to below 1; absent: not needed so far. */
  jitterDraw?: number;
  lossDraw?: number;
}

export class Line {
  readonly #random: () => number;
  #freeAt = 0;
  #lastDue = 0;

  constructor(seed: string) {
    this.#random = uniform(seed);
  }

  /** @param readyAt when they reach the line, now or later, by a monotonic clock */
  send(readyAt: number, bytes: number, shape: Shape): Sent {
    const sent: Sent = { bytes, readyAt, leavesAt: readyAt, dueAt: 0 };
    if (Number.isFinite(shape.bytesPerSecond)) {
      sent.leavesAt = Math.max(readyAt, this.#freeAt) + takesMs(bytes, shape);
      this.#freeAt = sent.leavesAt;
    }
    sent.dueAt = Math.max(this.#lastDue, sent.leavesAt + this.#travelMs(sent, shape));
    this.#lastDue = sent.dueAt;
    return sent;
  }

  /**
   * After a change nothing waits longer than if it were sent now. Nothing is drawn anew, so that an unchanged line changes
   * nothing. @param waiting what has not arrived, in order
   */
  become(nowMs: number, shape: Shape, waiting: readonly Sent[]): void {
    this.#freeAt = nowMs;
    this.#lastDue = 0;
    for (const sent of waiting) {
      if (sent.leavesAt > nowMs) {
        sent.leavesAt = Math.min(
          sent.leavesAt,
          Math.max(this.#freeAt, sent.readyAt) + takesMs(sent.bytes, shape),
        );
        this.#freeAt = sent.leavesAt;
      }
      const dueAt = Math.max(nowMs, sent.leavesAt) + this.#travelMs(sent, shape);
      sent.dueAt = Math.max(this.#lastDue, Math.min(sent.dueAt, dueAt));
      this.#lastDue = sent.dueAt;
    }
  }

  #travelMs(sent: Sent, { delayMs, jitterMs, loss, retransmitMs }: Shape): number {
    let jitter = 0;
    if (jitterMs > 0) {
      sent.jitterDraw ??= this.#random();
      jitter = (sent.jitterDraw * 2 - 1) * jitterMs;
    }
    const travelMs = Math.max(0, delayMs + jitter);
    if (loss === 0 || sent.bytes === 0) return travelMs;
    sent.lossDraw ??= this.#random();
    const packets = Math.ceil(sent.bytes / PACKET_BYTES);
    return sent.lossDraw > (1 - loss) ** packets ? travelMs + retransmitMs : travelMs;
  }
}

/** 0 on a line without a limit. */
function takesMs(bytes: number, { bytesPerSecond }: Shape): number {
  return (bytes / bytesPerSecond) * 1000;
}

export function pieceBytes({ bytesPerSecond }: Shape): number {
  return Math.max(PACKET_BYTES, Math.floor((bytesPerSecond * PIECE_MS) / 1000));
}

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
