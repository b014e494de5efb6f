/**
 * Tells of acknowledged chunks that leave unpushed because their batch has ended: one line per batch, every ten seconds at
 * most.
 */
import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';

/** A pass over a long queue takes seconds. */
const LINE_MS = 10_000;
/** Soon, but after more than one chunk. */
const FIRST_LINE_MS = 1_000;

export class GivenUp {
  readonly #clock: Pick<Clock, 'timer' | 'monotonic'>;
  readonly #log: Logger;
  /** Batch in hex → chunks since the last line. */
  readonly #chunks = new Map<string, number>();
  #timer: Disposable | undefined;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor({ clock, log }: { clock: Pick<Clock, 'timer' | 'monotonic'>; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  add(batch: string): void {
    this.#chunks.set(batch, (this.#chunks.get(batch) ?? 0) + 1);
    const pauseMs = Math.max(FIRST_LINE_MS, this.#saidAt + LINE_MS - this.#clock.monotonic());
    this.#timer ??= this.#clock.timer(pauseMs, () => this.say());
  }

  say(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#chunks.size > 0) this.#saidAt = this.#clock.monotonic();
    for (const [batch, chunks] of this.#chunks)
      this.#log.warn({ batch, chunks }, 'uploaded chunks are given up: their batch has ended');
    this.#chunks.clear();
  }
}
