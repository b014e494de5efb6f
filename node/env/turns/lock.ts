import { abortable } from '../abortable.ts';

/** One at a time, in the order of the calls. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Runs `work` when all earlier work is over, whatever its outcome; a caller that leaves before its turn is
   * skipped.
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last;
    const mine = Promise.withResolvers<void>();
    this.#last = before.then(() => mine.promise);
    try {
      await abortable(before, signal);
      return await work();
    } finally {
      mine.resolve();
    }
  }
}
