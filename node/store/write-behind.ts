/** Writes whose commits are not awaited. After a failure nothing more is written, except in the same turn. */
import type { Backend, Transaction } from './backend.ts';

/** Half a megabyte of chunks: more is not cheaper. */
const OPEN_WRITES_MAX = 128;

export class WriteBehind {
  readonly #backend: Backend;
  #open = 0;
  /** The newest is the last to settle. */
  #newest: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Waits only while too many are open. @param committed gets the result @throws the error of an earlier failed write */
  async add<T>(change: (tx: Transaction) => T, committed: (result: T) => void): Promise<void> {
    this.#throwFailure();
    this.#open += 1;
    this.#newest = this.#write(change, committed);
    if (this.#open < OPEN_WRITES_MAX) return;
    await this.#newest;
    this.#throwFailure();
  }

  /** @throws the first failure */
  async done(): Promise<void> {
    await this.#newest;
    this.#throwFailure();
  }

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
