/**
 * A bounded set of running promises. The caller that adds waits for `room()` only when the set is full, so a fast
 * receiver costs no turn of the event loop per item. The first failure is kept and ends all waiting for room.
 */
export class InFlight {
  readonly #limit: number;
  readonly #onFailure: (reason: unknown) => void;
  #running = 0;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** @param onFailure called once, with the first failure */
  constructor(limit: number, onFailure: (reason: unknown) => void) {
    this.#limit = limit;
    this.#onFailure = onFailure;
  }

  /** Also false after a failure, so that the next `room()` reports it. */
  get hasRoom(): boolean {
    return this.#running < this.#limit && this.#failure === undefined;
  }

  add(work: Promise<unknown>): void {
    this.#running += 1;
    work.then(
      () => this.#settle(),
      (reason: unknown) => {
        this.fail(reason);
        this.#settle();
      },
    );
  }

  /** Counts as the first failure when there was none. */
  fail(reason: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { reason };
    this.#onFailure(reason);
    this.#notify();
  }

  /** Resolves when one more may be added; rejects with the first failure. For one caller at a time, as all below. */
  async room(): Promise<void> {
    while (!this.hasRoom) {
      this.#check();
      await this.#change();
    }
  }

  /** Resolves when nothing is running, regardless of failures. */
  async idle(): Promise<void> {
    while (this.#running > 0) await this.#change();
  }

  /** Waits for everything added; rejects with the first failure. */
  async done(): Promise<void> {
    await this.idle();
    this.#check();
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  #settle(): void {
    this.#running -= 1;
    this.#notify();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
