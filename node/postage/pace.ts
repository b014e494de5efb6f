/**
 * How long to wait before the chain is polled again. While transactions come, polls follow each other closely. On a
 * chain with empty blocks the next poll is when the next block is due; if that does not come, polls become rarer.
 */
import type { Clock } from '../../formats/clock.ts';

/** Number of close polls without news before polls follow the blocks. */
const CLOSE_POLLS = 20;
/**
 * Fraction of the time between two blocks. Polls come slightly earlier from block to block, until one comes too early
 * and the one after the next short pause is in step again: with 0.95 every second block cost two polls, with 0.99 one
 * of ten does.
 */
const DUE = 0.99;
/** Polls are never further apart than this many close pauses: a test chain's blocks may come out of turn. */
const PAUSES_MAX = 10;

export interface PaceOptions {
  /** Between polls that follow each other closely, milliseconds. */
  readonly pollIntervalMs: number;
  readonly blockTimeMs: number;
}

export class Pace {
  readonly #options: PaceOptions;
  readonly #clock: Pick<Clock, 'sleep'>;
  #closePolls = CLOSE_POLLS;
  /** Polls in a row that found nothing. */
  #misses = 0;
  /** Ends the running pause. */
  #pauseEnd = new AbortController();

  constructor(options: PaceOptions, clock: Pick<Clock, 'sleep'>) {
    this.#options = options;
    this.#clock = clock;
  }

  /** A poll has found something, or `empty` blocks. */
  found({ empty }: { readonly empty: boolean }): void {
    if (empty) this.#closePolls--;
    else this.#closePolls = Math.max(this.#closePolls, CLOSE_POLLS);
    this.#misses = 0;
  }

  nothing(): void {
    this.#closePolls--;
    this.#misses++;
  }

  /** Something is about to happen: from now on polls follow each other closely. */
  hurry(): void {
    this.#closePolls = Math.max(this.#closePolls, CLOSE_POLLS);
    this.#pauseEnd.abort();
  }

  /** @throws the signal's reason */
  async pause(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const pauseEnd = new AbortController();
    this.#pauseEnd = pauseEnd;
    const end = () => pauseEnd.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    try {
      await this.#clock.sleep(this.#pauseMs(), pauseEnd.signal);
    } catch (error) {
      if (signal.aborted || !pauseEnd.signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  #pauseMs(): number {
    const { pollIntervalMs, blockTimeMs } = this.#options;
    if (this.#closePolls > 0) return pollIntervalMs;
    const due = Math.max(pollIntervalMs, Math.min(DUE * blockTimeMs, PAUSES_MAX * pollIntervalMs));
    return this.#misses === 0 ? due : Math.min(due, pollIntervalMs * 2 ** (this.#misses - 1));
  }
}
