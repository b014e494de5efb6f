/**
 * The result of the last look at the head of the chain, for callers that need not look again: its height, and
 * whether anything can have changed. Blocks without transactions change no contract state.
 */
import type { Clock } from '../env/clock.ts';
import type { BlockHeader } from './ports.ts';

export class Head {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #last: { readonly header: BlockHeader; readonly at: number } | undefined;
  #changes = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** @param header of the newest block */
  seen(header: BlockHeader): void {
    const before = this.#last?.header;
    if (header.hash !== before?.hash && !(before !== undefined && isEmptyAfter(header, before)))
      this.#changes++;
    this.#last = { header, at: this.#clock.monotonic() };
  }

  /** Undefined when the last look is older than `ageMs`. */
  height(ageMs: number): number | undefined {
    return this.#within(ageMs)?.header.number;
  }

  /**
   * A number that differs once something may have changed. Undefined when the last look is older than
   * `ageMs`.
   */
  changes(ageMs: number): number | undefined {
    return this.#within(ageMs) === undefined ? undefined : this.#changes;
  }

  #within(ageMs: number) {
    const last = this.#last;
    return last !== undefined && this.#clock.monotonic() - last.at <= ageMs ? last : undefined;
  }
}

/** Whether a block follows another one and has no transactions. */
export function isEmptyAfter(header: BlockHeader, before: { readonly hash: string }): boolean {
  return header.parentHash === before.hash && header.transactions === 0;
}
