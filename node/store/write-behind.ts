/**
 * Writes of a caller that does not await each commit. A bounded number is open. Once one is known to have
 * failed, nothing more is written, except those of the same turn: each stands on its own.
 */
import type { Backend, Transaction } from './backend.ts';

/** Half a megabyte of chunks between two commits: more does not make them cheaper. */
const OPEN_WRITES_MAX = 128;

export class WriteBehind {
  readonly #backend: Backend;
  #open = 0;
  /** Settles with the newest write; writes are committed in order, so it is the last to settle. */
  #newest: Promise<void> = Promise.resolve();
  /** First write that failed. */
  #failure: { readonly error: unknown } | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /**
   * Waits only while too many are open.
   * @param committed called with the change's result @throws the error of an earlier failed write
   */
  async add<T>(change: (tx: Transaction) => T, committed: (result: T) => void): Promise<void> {
    this.#throwFailure();
    this.#open += 1;
    this.#newest = this.#write(change, committed);
    if (this.#open < OPEN_WRITES_MAX) return;
    await this.#newest;
    this.#throwFailure();
  }

  /** Waits for all of them. @throws the first failure */
  async done(): Promise<void> {
    await this.#newest;
    this.#throwFailure();
  }

  /** Waits for all of them, whether they fail or not. */
  async ended(): Promise<void> {
    await this.#newest;
  }

  async #write<T>(change: (tx: Transaction) => T, committed: (result: T) => void): Promise<void> {
    try {
      const result = await this.#backend.change((tx) => {
        this.#throwFailure();
        return change(tx);
      });
      committed(result);
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#open -= 1;
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
