/** One at a time, in the order of asking. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when everything asked before is over, whatever its outcome. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch((error: unknown) => error);
    return mine;
  }
}
