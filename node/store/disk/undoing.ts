/** Undoes what failed requests left in the store. */
import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import { isDiskFailure } from '../errors.ts';

const RETRY_MS = 2_000;

export class Undoing {
  readonly #deps: { readonly clock: Pick<Clock, 'timer'>; readonly log: Logger };
  /** Oldest first. */
  readonly #waiting: (() => Promise<void>)[] = [];
  #timer: Disposable | undefined;
  #closed = false;

  constructor(deps: { readonly clock: Pick<Clock, 'timer'>; readonly log: Logger }) {
    this.#deps = deps;
  }

  /**
   * Also resolves when the disk refuses: then it is tried again until it succeeds, at the latest at the next start. @param
   * undo may run several times @throws what is no failure of the disk
   */
  async run(undo: () => Promise<void>): Promise<void> {
    try {
      await undo();
    } catch (error) {
      if (!isDiskFailure(error)) throw error;
      this.#deps.log.warn({ err: error }, 'what a failed request has left cannot be put in order yet');
      this.#waiting.push(undo);
      this.#later();
    }
  }

  close(): void {
    this.#closed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #later(): void {
    if (this.#closed) return;
    this.#timer ??= this.#deps.clock.timer(RETRY_MS, () => void this.#again());
  }

  async #again(): Promise<void> {
    for (let undo = this.#waiting[0]; undo !== undefined && !this.#closed; undo = this.#waiting[0]) {
      try {
        await undo();
      } catch (error) {
        if (isDiskFailure(error) || this.#closed) break;
        this.#deps.log.error(
          { err: error },
          'what a failed request has left is put in order at the next start',
        );
      }
      this.#waiting.shift();
    }
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#later();
  }
}
