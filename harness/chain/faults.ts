/** A fault that this process has injected into a chain, for reports. */

export interface ChainFault {
  /** For people: `the chain was paused`. */
  readonly text: string;
  /** Ms since the epoch. */
  readonly at: number;
  /** Absent: it took no time, or still lasts. */
  readonly endAt?: number;
}

const FAULTS_MAX = 1000;

export class ChainFaults {
  #faults: readonly ChainFault[] = [];
  /** Faults that still last, by target. */
  readonly #open = new Map<string, ChainFault>();

  /** In the order in which they began. */
  get list(): readonly ChainFault[] {
    return this.#faults;
  }

  /** Targets of those that still last. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** @param target what it affects, until `end`; absent: it takes no time */
  begin(text: string, target?: string): void {
    if (target !== undefined) this.end(target);
    const fault = { text, at: Date.now() };
    this.#faults = [...this.#faults.slice(1 - FAULTS_MAX), fault];
    if (target !== undefined) this.#open.set(target, fault);
  }

  end(target: string): void {
    const fault = this.#open.get(target);
    this.#open.delete(target);
    this.#faults = this.#faults.map((one) => (one === fault ? { ...one, endAt: Date.now() } : one));
  }
}
