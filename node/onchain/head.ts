/**
 * The result of the last poll of the chain's head, for callers that need not poll again: its height, and whether
 * anything can have changed. Blocks without transactions change no contract state.
 */

import type { Clock } from '../../formats/clock.ts';
import type { BlockHeader } from './ports.ts';

/** Who waits for a change checks after this many times the age of a recent poll that there still are polls. */
const RECHECK_AGES = 5;

export class Head {
  readonly #clock: Pick<Clock, 'monotonic' | 'timer'>;
  #last: { readonly header: BlockHeader; readonly at: number } | undefined;
  #changes = 0;
  /** Wake those who wait. */
  readonly #forChange = new Set<() => void>();
  readonly #forPoll = new Set<() => void>();

  constructor(clock: Pick<Clock, 'monotonic' | 'timer'>) {
    this.#clock = clock;
  }

  /** @param header of the newest block */
  seen(header: BlockHeader): void {
    const before = this.#last?.header;
    this.#last = { header, at: this.#clock.monotonic() };
    for (const wake of this.#forPoll) wake();
    if (header.hash === before?.hash || (before !== undefined && isEmptyAfter(header, before))) return;
    this.#changes++;
    for (const wake of this.#forChange) wake();
  }

  /** Undefined when the last poll is older than `ageMs`. */
  height(ageMs: number): number | undefined {
    return this.#recent(ageMs)?.header.number;
  }

  /** A number that differs once something may have changed. Undefined when the last poll is older than `ageMs`. */
  changes(ageMs: number): number | undefined {
    return this.#recent(ageMs) === undefined ? undefined : this.#changes;
  }

  /**
   * Waits until `changes` differs from a number that it returned before, or until nobody has looked for a while. A
   * timer of its own would wake an idle node for nothing.
   * @throws the signal's reason
   */
  async changed(since: number | undefined, ageMs: number, signal: AbortSignal): Promise<void> {
    const isSame = () => since !== undefined && this.changes(ageMs) === since;
    while (isSame()) await this.#within(this.#forChange, RECHECK_AGES * ageMs, signal);
  }

  /** Waits for the next poll, at most `ms`. Needs no timer that wakes an idle node. @throws the signal's reason */
  polled(ms: number, signal: AbortSignal): Promise<void> {
    return this.#within(this.#forPoll, ms, signal);
  }

  /** A node at rest waits here for each block: a deadline with its signal would cost more than what it does then. */
  async #within(waiting: Set<() => void>, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => reject(signal.reason as Error);
    const timer = this.#clock.timer(ms, resolve);
    signal.addEventListener('abort', leave, { once: true });
    waiting.add(resolve);
    try {
      await promise;
    } finally {
      timer[Symbol.dispose]();
      signal.removeEventListener('abort', leave);
      waiting.delete(resolve);
    }
  }

  #recent(ageMs: number) {
    const last = this.#last;
    return last !== undefined && this.#clock.monotonic() - last.at <= ageMs ? last : undefined;
  }
}

/** Whether a block follows another one and has no transactions. */
export function isEmptyAfter(header: BlockHeader, before: { readonly hash: string }): boolean {
  return header.parentHash === before.hash && header.transactions === 0;
}
