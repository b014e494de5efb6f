/**
 * The head's last poll, for callers that need not poll: its height, and whether anything can have changed. Empty blocks
 * change no contract.
 */

import type { Clock } from '../../formats/clock.ts';
import type { BlockHeader } from './ports.ts';

/** Multiple of the age after which a waiter checks that there still are polls. */
const RECHECK_AGES = 5;

export class Head {
  readonly #clock: Pick<Clock, 'monotonic' | 'timer'>;
  #last: { readonly header: BlockHeader; readonly at: number } | undefined;
  #changes = 0;
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

  /** Differs once something may have changed. Undefined when the last poll is older than `ageMs`. */
  changes(ageMs: number): number | undefined {
    return this.#recent(ageMs) === undefined ? undefined : this.#changes;
  }

  /** Also resolves when nobody has looked for a while. Its own timer would wake an idle node. @throws the signal's reason */
  async changed(since: number | undefined, ageMs: number, signal: AbortSignal): Promise<void> {
    const isSame = () => since !== undefined && this.changes(ageMs) === since;
    while (isSame()) await this.#within(this.#forChange, RECHECK_AGES * ageMs, signal);
  }

  /** At most `ms`, without a timer that wakes an idle node. @throws the signal's reason */
  polled(ms: number, signal: AbortSignal): Promise<void> {
    return this.#within(this.#forPoll, ms, signal);
  }

  /** An idle node waits here for each block: a deadline would cost more than its work. */
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

export function isEmptyAfter(header: BlockHeader, before: { readonly hash: string }): boolean {
  return header.parentHash === before.hash && header.transactions === 0;
}
