/** Measures how much the cores of the machine have nothing to do; in a container, those of its host. */
import { cpus } from 'node:os';

export class IdleCores {
  readonly #read: () => number;
  #last: number;

  /** @param read idle ms of all cores, from any beginning */
  constructor(read: () => number = idleMs) {
    this.#read = read;
    this.#last = read();
  }

  /** Idle milliseconds of all cores since the last call; 0 where the system does not say. */
  takeMs(): number {
    const last = this.#last;
    this.#last = this.#read();
    return Math.max(0, this.#last - last);
  }
}

function idleMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}
