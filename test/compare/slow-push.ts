/** Peers are some milliseconds apart; pushes of one take longer by a share of its uploads' time. */
import { vi } from 'vitest';
import { MemoryNetwork } from '../../node/p2p/memory-host.ts';
import type { MemoryFrame } from '../../node/p2p/memory-link.ts';

/** One way. As on any network, most of a push is waiting for peers then. */
const LATENCY_MS = 10;
/** Their durations tell the present one. */
const REMEMBERED = 9;

/**
 * Each stream that the node opens for a push begins late. All nodes are in this process, so the network in memory carries
 * every message.
 */
export class SlowPush implements Disposable {
  readonly #share: number;
  readonly #spy;
  readonly #usualMs: number[] = [];
  /** By peer id: until when messages of the push under way are held back. */
  #dueMs: Map<string, number> | undefined;

  /** @param underlay with the peer id */
  constructor(underlay: string, share: number) {
    this.#share = share;
    const peerId = underlay.slice(underlay.lastIndexOf('/') + 1);
    const { value } = Object.getOwnPropertyDescriptor(MemoryNetwork.prototype, 'carry') ?? {};
    const carry = value as MemoryNetwork['carry'];
    const late = (frame: MemoryFrame) => this.#late(frame);
    this.#spy = vi.spyOn(MemoryNetwork.prototype, 'carry').mockImplementation(function (
      this: MemoryNetwork,
      frame,
      deliver,
    ) {
      const isPush = frame.protocolId.includes('pushsync');
      if (!isPush) return carry.call(this, frame, deliver);
      const lateMs = frame.from === peerId ? late(frame) : 0;
      // Timers of the same length keep the order of a stream.
      setTimeout(() => carry.call(this, frame, deliver), LATENCY_MS + lateMs);
    });
  }

  /** Records how long the unchanged upload takes. */
  async usual<T>(upload: () => Promise<T>): Promise<T> {
    const startMs = performance.now();
    const result = await upload();
    this.#usualMs.push(performance.now() - startMs);
    if (this.#usualMs.length > REMEMBERED) this.#usualMs.shift();
    return result;
  }

  async slow<T>(upload: () => Promise<T>): Promise<T> {
    this.#dueMs = new Map();
    try {
      return await upload();
    } finally {
      this.#dueMs = undefined;
    }
  }

  /** @returns how much longer it travels; nothing overtakes a stream's beginning */
  #late({ kind, to }: MemoryFrame): number {
    if (this.#dueMs === undefined) return 0;
    if (kind === 'open') this.#dueMs.set(to, performance.now() + this.#share * this.#usual());
    return Math.max(0, (this.#dueMs.get(to) ?? 0) - performance.now());
  }

  #usual(): number {
    return this.#usualMs.toSorted((a, b) => a - b)[Math.floor(this.#usualMs.length / 2)] ?? 0;
  }

  [Symbol.dispose](): void {
    this.#spy.mockRestore();
  }
}
