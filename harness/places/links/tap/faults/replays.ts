/** What is to be said again later on one connection: bounded, and nothing once that has ended. */
import type { Clock } from '../../../../../formats/clock.ts';

/** Bytes of a conversation that are kept for that: a new stream takes them without credit. */
export const REPLAYED_MAX = 262_144;
/** That wait at once. */
const WAITING_MAX = 1000;

export class Replays {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #waiting = new Set<Disposable>();

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock;
  }

  later(ms: number, say: () => void): void {
    if (this.#waiting.size >= WAITING_MAX) return;
    const timer = this.#clock.timer(ms, () => {
      this.#waiting.delete(timer);
      say();
    });
    this.#waiting.add(timer);
  }

  close(): void {
    for (const timer of this.#waiting) timer[Symbol.dispose]();
    this.#waiting.clear();
  }
}
