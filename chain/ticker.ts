import type { Clock } from '../formats/clock.ts';

/** Blocks at multiples of the block time on the wall clock. A late block is left out. */

/** Block timestamps are whole seconds: block times are counted from the beginning of one. */
const SECOND_MS = 1000;
/** After the second: a timer may fire a little early. */
const PHASE_MS = 10;

export interface TickerDeps {
  readonly clock: Clock;
  mineBlock: () => Promise<void>;
  onError: (error: unknown) => void;
}

export class Ticker {
  readonly #deps: TickerDeps;
  #blockTimeMs = 0;
  /** Block times count from here: a chain with long ones gets no block right after its start. */
  #originMs = 0;
  #paused = false;
  #stopped = false;
  #timer: Disposable | undefined;
  #mining: Promise<void> = Promise.resolve();

  constructor(deps: TickerDeps) {
    this.#deps = deps;
  }

  get blockTimeMs(): number {
    return this.#blockTimeMs;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get running(): boolean {
    return this.#blockTimeMs > 0 && !this.#paused && !this.#stopped;
  }

  /** 0: blocks on demand only. */
  setBlockTime(blockTimeMs: number): void {
    // A change does not restart, or each would delay the next block.
    if (this.#blockTimeMs === 0)
      this.#originMs = Math.floor((this.#deps.clock.now() - PHASE_MS) / SECOND_MS) * SECOND_MS;
    this.#blockTimeMs = blockTimeMs;
    this.#schedule();
  }

  /** Once it resolves, no block is mined until `resume`; before that, one may be in progress. */
  async pause(): Promise<void> {
    this.#paused = true;
    this.#schedule();
    await this.#mining;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#mining;
  }

  #schedule(): void {
    this.#timer?.[Symbol.dispose]();
    if (!this.running) return;
    const { clock } = this.#deps;
    const passed = clock.now() - PHASE_MS - this.#originMs;
    const next = (Math.floor(passed / this.#blockTimeMs) + 1) * this.#blockTimeMs;
    this.#timer = clock.timer(next - passed, () => {
      this.#mining = this.#tick();
    });
  }

  async #tick(): Promise<void> {
    try {
      await this.#deps.mineBlock();
    } catch (error) {
      this.#deps.onError(error);
    }
    this.#schedule();
  }
}
