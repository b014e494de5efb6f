/** How idle the cores are; in a container, the host's. */
import { cpus } from 'node:os';

export class IdleCores {
  readonly #read: () => number;
  #last: number;

  /** @param read idle ms of all cores, from any beginning */
  constructor(read: () => number = idleMs) {
    this.#read = read;
    this.#last = read();
  }

  /** Since the last call; 0: unknown. */
  takeMs(): number {
    const last = this.#last;
    this.#last = this.#read();
    return Math.max(0, this.#last - last);
  }
}

function idleMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}
