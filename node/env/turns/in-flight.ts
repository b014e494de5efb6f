/**
 * A bounded set of running promises. `room()` waits only when it is full, so a fast receiver costs no turn per item. The
 * first failure ends all waiting.
 */
export class InFlight {
  readonly #limit: number;
  readonly #onFailure: (reason: unknown) => void;
  #running = 0;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** @param onFailure gets the first failure */
  constructor(limit: number, onFailure: (reason: unknown) => void) {
    this.#limit = limit;
    this.#onFailure = onFailure;
  }

  /** False after a failure, which `room()` reports. */
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

  /** The first failure counts. */
  fail(reason: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { reason };
    this.#onFailure(reason);
    this.#notify();
  }

  /** Rejects with the first failure. One caller at a time, as below. */
  async room(): Promise<void> {
    while (!this.hasRoom) {
      this.#check();
      await this.#change();
    }
  }

  /** Regardless of failures. */
  async idle(): Promise<void> {
    while (this.#running > 0) await this.#change();
  }

  /** Rejects with the first failure. */
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
