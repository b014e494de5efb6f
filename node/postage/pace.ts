/** When to poll again: often while transactions come; with empty blocks when the next is due; then more rarely. */
import type { Clock } from '../../formats/clock.ts';

/** Close polls without news before they follow blocks. */
const CLOSE_POLLS = 20;
/**
 * Of the time between blocks. Polls drift earlier until one comes too early and the next short pause is in step: with 0.95
 * every second block cost two polls, with 0.99 one of ten does.
 */
const DUE = 0.99;
/** Close pauses: a test chain's blocks may come out of turn. */
const PAUSES_MAX = 10;

export interface PaceOptions {
  readonly pollIntervalMs: number;
  readonly blockTimeMs: number;
}

export class Pace {
  readonly #options: PaceOptions;
  readonly #clock: Pick<Clock, 'sleep'>;
  #closePolls = CLOSE_POLLS;
  #misses = 0;
  #pauseEnd = new AbortController();

  constructor(options: PaceOptions, clock: Pick<Clock, 'sleep'>) {
    this.#options = options;
    this.#clock = clock;
  }

  found({ empty }: { readonly empty: boolean }): void {
    if (empty) this.#closePolls--;
    else this.#closePolls = Math.max(this.#closePolls, CLOSE_POLLS);
    this.#misses = 0;
  }

  nothing(): void {
    this.#closePolls--;
    this.#misses++;
  }

  /** Something is about to happen. */
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
