import type { ClockFault, DiskFault, NodeFault } from './settings.ts';
import { readFaults } from './settings.ts';
import type { Tally } from './tally.ts';

export interface Active<F> {
  readonly fault: F;
  readonly count: (what: string, by?: number) => void;
}

export class Surroundings {
  readonly #dataDir: string;
  readonly #tally: Tally;
  #clocks: readonly Active<ClockFault>[] = [];
  #disks: readonly Active<DiskFault>[] = [];
  readonly #listeners: (() => void)[] = [];

  constructor(dataDir: string, tally: Tally) {
    this.#dataDir = dataDir;
    this.#tally = tally;
    this.reload();
  }

  get clocks(): readonly Active<ClockFault>[] {
    return this.#clocks;
  }

  get disks(): readonly Active<DiskFault>[] {
    return this.#disks;
  }

  onReload(reloaded: () => void): void {
    this.#listeners.push(reloaded);
  }

  reload(): void {
    const all = Array.from(readFaults(this.#dataDir), ([key, fault]) => this.#active(key, fault));
    this.#clocks = all.filter((one): one is Active<ClockFault> => one.fault.layer === 'clock');
    this.#disks = all.filter((one): one is Active<DiskFault> => one.fault.layer === 'disk');
    for (const reloaded of this.#listeners) reloaded();
  }

  #active(key: string, fault: NodeFault): Active<NodeFault> {
    return { fault, count: (what, by) => this.#tally.count(key, what, by) };
  }
}
