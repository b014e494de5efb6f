/** One at a time, in the order of asking. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when everything asked before is over, whatever its outcome; who leaves before its turn is skipped. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last;
    const mine = Promise.withResolvers<void>();
    this.#last = before.then(() => mine.promise);
    try {
      await (signal === undefined ? before : until(before, signal));
      return await work();
    } finally {
      mine.resolve();
    }
  }
}

/** @throws the signal's reason when it aborts first */
export async function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const left = Promise.withResolvers<never>();
  const leave = () => left.reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([promise, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
