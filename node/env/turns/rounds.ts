import type { Clock } from '../clock.ts';

/** Work that is done in rounds, one at a time, each of them asked for ahead. */
export class Rounds {
  readonly #clock: Clock;
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #stopping = new AbortController();
  #next: { readonly timer: Disposable; readonly at: number } | undefined;
  #isDue = false;
  #running: Promise<void> | undefined;

  /** @param work never rejects; may ask for another round */
  constructor(clock: Clock, work: (signal: AbortSignal) => Promise<void>) {
    this.#clock = clock;
    this.#work = work;
  }

  /** Begins a round after a pause, unless one begins sooner; never while one is running. */
  in(pauseMs: number): void {
    const at = this.#clock.monotonic() + pauseMs;
    if (this.#stopping.signal.aborted || (this.#next !== undefined && this.#next.at <= at)) return;
    this.#next?.timer[Symbol.dispose]();
    const timer = this.#clock.timer(pauseMs, () => {
      this.#next = undefined;
      this.#isDue = true;
      this.#running ??= this.#run().finally(() => (this.#running = undefined));
    });
    this.#next = { timer, at };
  }

  /** Ends the running round by its signal, and waits for it. */
  async stop(): Promise<void> {
    this.#stopping.abort(new DOMException('no more rounds', 'AbortError'));
    this.#next?.timer[Symbol.dispose]();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isDue && !this.#stopping.signal.aborted) {
      this.#isDue = false;
      await this.#work(this.#stopping.signal);
    }
  }
}
