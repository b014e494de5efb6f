import { abortable } from '../abortable.ts';

export class Lock {
  #isFree = true;
  /** Wake those who wait, the first one first. */
  readonly #waiting = new Set<() => void>();

  get isFree(): boolean {
    return this.#isFree;
  }

  /** After all earlier work, whatever its outcome; a caller that leaves before is skipped. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (!this.#isFree) await this.#turn(signal);
    this.#isFree = false;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await abortable(promise, signal);
    } catch (error) {
      // It may have left when the turn was already its own.
      if (!this.#waiting.delete(resolve)) this.#next();
      throw error;
    }
  }

  #next(): void {
    const [next] = this.#waiting;
    this.#isFree = next === undefined;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}
