import type { Clock } from '../../../node/env/clock.ts';

/** Sleeping takes no time: the clock jumps to where the sleeper wants to be, after everything due had its turn. */
export class VirtualClock implements Clock {
  #nowMs = 1_700_000_000_000;
  #lastNs = 0n;

  now(): number {
    return this.#nowMs;
  }

  nowNs(): bigint {
    const wallNs = BigInt(this.#nowMs) * 1_000_000n;
    this.#lastNs = wallNs > this.#lastNs ? wallNs : this.#lastNs + 1n;
    return this.#lastNs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const wakeAt = this.#nowMs + ms;
    await new Promise(setImmediate);
    signal?.throwIfAborted();
    this.#nowMs = Math.max(this.#nowMs, wakeAt);
  }

  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  timer(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }

  deadline(_ms: number, parent?: AbortSignal): { signal: AbortSignal } & Disposable {
    return { signal: parent ?? new AbortController().signal, [Symbol.dispose]: () => undefined };
  }
}
