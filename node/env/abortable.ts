import type { Clock, Deadline } from '../../formats/clock.ts';

const ONCE = { once: true } as const;

/** Settles as `promise` does, or rejects with the signal's reason. Leaves no listener behind. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, ONCE);
    // Cheaper than `finally` and `then`; every chunk passes several times.
    promise.then(
      (value) => {
        signal.removeEventListener('abort', onAbort);
        return resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort);
        reject(error);
      },
    );
  });
}

/** Its timer starts when the signal is first requested: most streams have everything in the first packet. */
export class LazyDeadline implements Deadline {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #parent: AbortSignal | undefined;
  #started: Deadline | undefined;

  constructor(clock: Clock, ms: number, parent?: AbortSignal) {
    this.#clock = clock;
    this.#ms = ms;
    this.#parent = parent;
  }

  get signal(): AbortSignal {
    this.#started ??= this.#clock.deadline(this.#ms, this.#parent);
    return this.#started.signal;
  }

  [Symbol.dispose](): void {
    this.#started?.[Symbol.dispose]();
  }
}
