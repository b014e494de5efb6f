/**
 * How much work one turn may hold. Work that never waits would starve the process: it continues in a later turn when its
 * allowance is used up.
 */
import type { Clock } from '../../../formats/clock.ts';

export class TurnAllowance {
  readonly #perTurn: number;
  readonly #clock: Pick<Clock, 'turn'>;
  #left: number;
  #isRunning = false;
  readonly #waiting: { readonly amount: number; readonly goOn: () => void }[] = [];

  /** @param perTurn in the unit of `spend` */
  constructor(perTurn: number, clock: Pick<Clock, 'turn'>) {
    this.#perTurn = perTurn;
    this.#clock = clock;
    this.#left = perTurn;
  }

  /** Before or after the work. Waiting callers continue in order. @returns undefined when it fits into this turn */
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

  /** While there is something to count. */
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
