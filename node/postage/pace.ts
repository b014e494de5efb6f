/**
 * How long to wait until the next look at the chain. While transactions come, looks follow each other closely. On a
 * chain with empty blocks the next look is when the next block is due; if that does not come, looks become
 * rarer.
 */
import type { Clock } from '../env/clock.ts';

/** Number of close looks without news before looks follow the blocks. */
const CLOSE_LOOKS = 20;
/**
 * Fraction of the time between two blocks. Looks come slightly earlier from block to block, until one comes
 * too early and the one after the next short pause is in step again: with 0.95 every second block cost two
 * looks, with 0.99 one of ten does.
 */
const DUE = 0.99;
/**
 * Looks are never further apart than this many close pauses: blocks may come out of turn, as on a test chain.
 */
const RAREST = 10;

export interface PaceOptions {
  /** Between looks that follow each other closely, milliseconds. */
  readonly pollIntervalMs: number;
  readonly blockTimeMs: number;
}

export class Pace {
  readonly #options: PaceOptions;
  readonly #clock: Pick<Clock, 'sleep'>;
  #close = CLOSE_LOOKS;
  /** Looks in a row that found nothing. */
  #misses = 0;
  /** Ends the running pause. */
  #nap = new AbortController();

  constructor(options: PaceOptions, clock: Pick<Clock, 'sleep'>) {
    this.#options = options;
    this.#clock = clock;
  }

  /** A look has found something, or `empty` blocks. */
  found({ empty }: { readonly empty: boolean }): void {
    if (empty) this.#close--;
    else this.#close = Math.max(this.#close, CLOSE_LOOKS);
    this.#misses = 0;
  }

  nothing(): void {
    this.#close--;
    this.#misses++;
  }

  /** Something is about to happen: from now on looks follow each other closely. */
  hurry(): void {
    this.#close = Math.max(this.#close, CLOSE_LOOKS);
    this.#nap.abort();
  }

  /** @throws the signal's reason */
  async pause(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const nap = new AbortController();
    this.#nap = nap;
    const end = () => nap.abort(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    try {
      await this.#clock.sleep(this.#pauseMs(), nap.signal);
    } catch (error) {
      if (signal.aborted || !nap.signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  #pauseMs(): number {
    const { pollIntervalMs, blockTimeMs } = this.#options;
    if (this.#close > 0) return pollIntervalMs;
    const due = Math.max(pollIntervalMs, Math.min(DUE * blockTimeMs, RAREST * pollIntervalMs));
    return this.#misses === 0 ? due : Math.min(due, pollIntervalMs * 2 ** (this.#misses - 1));
  }
}
