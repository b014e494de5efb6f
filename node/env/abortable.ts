import type { Clock, Deadline } from '../../formats/clock.ts';

const ONCE = { once: true } as const;

/**
 * Settles as `promise` does, or rejects with the signal's reason when that aborts first. Leaves no listener behind.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, ONCE);
    // One reaction instead of `finally` and `then`: every chunk comes through here several times.
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

/**
 * A deadline whose timer starts when its signal is first requested. Most streams have everything they need in the
 * first packet and then never start one.
 */
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
