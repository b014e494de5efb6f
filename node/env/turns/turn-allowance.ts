/**
 * How much work of a kind one turn of the event loop may hold. Work that never waits for anything outside would keep
 * everything else in the process from its turn: it spends what it does, and goes on in a later turn when that is too much.
 */
import type { Clock } from '../clock.ts';

export class TurnAllowance {
  readonly #perTurn: number;
  readonly #clock: Pick<Clock, 'turn'>;
  #left: number;
  #isRunning = false;
  readonly #waiting: { readonly amount: number; readonly goOn: () => void }[] = [];

  /** @param perTurn in whatever unit is spent */
  constructor(perTurn: number, clock: Pick<Clock, 'turn'>) {
    this.#perTurn = perTurn;
    this.#clock = clock;
    this.#left = perTurn;
  }

  /**
   * Before the work, or after it. Several who wait go on in their order, as many in one turn as the allowance pays for.
   * @returns undefined when the work fits into this turn, so that it costs no wait
   */
  spend(amount: number): Promise<void> | undefined {
    if (!this.#isRunning) void this.#run();
    if (this.#left > 0 && this.#waiting.length === 0) {
      this.#left -= amount;
      return undefined;
    }
    return new Promise((goOn) => {
      this.#waiting.push({ amount, goOn });
    });
  }

  /** Counts turns for as long as there is something to count. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    do {
      await this.#clock.turn();
      this.#left = this.#perTurn;
      while (this.#left > 0) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        this.#left -= next.amount;
        next.goOn();
      }
    } while (this.#left < this.#perTurn);
    this.#isRunning = false;
  }
}
