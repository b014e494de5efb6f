/** Measures how many cores of the machine have nothing to do. */
import { cpus } from 'node:os';

/** Time of all cores together since the machine started, milliseconds. */
export interface CoreTimes {
  readonly idle: number;
  readonly total: number;
  readonly cores: number;
}

export class IdleCores {
  readonly #read: () => CoreTimes;
  #last: CoreTimes;

  constructor(read: () => CoreTimes = coreTimes) {
    this.#read = read;
    this.#last = read();
  }

  /** Cores that were idle since the last call, on average; 0 where the system does not say. */
  since(): number {
    const last = this.#last;
    const now = this.#read();
    this.#last = now;
    const total = now.total - last.total;
    return total > 0 ? ((now.idle - last.idle) / total) * now.cores : 0;
  }
}

function coreTimes(): CoreTimes {
  const cores = cpus();
  let [idle, total] = [0, 0];
  for (const { times } of cores) {
    idle += times.idle;
    total += times.idle + times.user + times.sys + times.nice + times.irq;
  }
  return { idle, total, cores: cores.length };
}
