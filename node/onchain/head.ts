/**
 * The result of the last poll of the chain's head, for callers that need not poll again: its height, and
 * whether anything can have changed. Blocks without transactions change no contract state.
 */

import { type Clock, TimeoutError } from '../../formats/clock.ts';
import { abortable } from '../env/abortable.ts';
import type { BlockHeader } from './ports.ts';

/** Who waits for a change checks after this many times the age of a recent poll that there still are polls. */
const RECHECK_AGES = 5;

export class Head {
  readonly #clock: Pick<Clock, 'monotonic' | 'deadline'>;
  #last: { readonly header: BlockHeader; readonly at: number } | undefined;
  #changes = 0;
  #nextChange = Promise.withResolvers<void>();
  #nextPoll = Promise.withResolvers<void>();

  constructor(clock: Pick<Clock, 'monotonic' | 'deadline'>) {
    this.#clock = clock;
  }

  /** @param header of the newest block */
  seen(header: BlockHeader): void {
    const before = this.#last?.header;
    this.#last = { header, at: this.#clock.monotonic() };
    this.#nextPoll.resolve();
    this.#nextPoll = Promise.withResolvers();
    if (header.hash === before?.hash || (before !== undefined && isEmptyAfter(header, before))) return;
    this.#changes++;
    this.#nextChange.resolve();
    this.#nextChange = Promise.withResolvers();
  }

  /** Undefined when the last poll is older than `ageMs`. */
  height(ageMs: number): number | undefined {
    return this.#recent(ageMs)?.header.number;
  }

  /**
   * A number that differs once something may have changed. Undefined when the last poll is older than
   * `ageMs`.
   */
  changes(ageMs: number): number | undefined {
    return this.#recent(ageMs) === undefined ? undefined : this.#changes;
  }

  /**
   * Waits until `changes` differs from a number that it told before, or until nobody has looked for a while. A timer of
   * one's own would wake an idle node for nothing. @throws the signal's reason
   */
  async changed(since: number | undefined, ageMs: number, signal: AbortSignal): Promise<void> {
    const isSame = () => since !== undefined && this.changes(ageMs) === since;
    while (isSame()) await this.#within(this.#nextChange.promise, RECHECK_AGES * ageMs, signal);
  }

  /** Waits for the next poll, at most `ms`. Needs no timer that wakes an idle node. @throws the signal's reason */
  polled(ms: number, signal: AbortSignal): Promise<void> {
    return this.#within(this.#nextPoll.promise, ms, signal);
  }

  async #within(event: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
    using deadline = this.#clock.deadline(ms, signal);
    await abortable(event, deadline.signal).catch((error: unknown) => {
      if (!(error instanceof TimeoutError)) throw error;
    });
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
