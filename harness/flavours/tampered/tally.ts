/** What a tampered node has done so far, kept on disk so that it survives a kill. */

import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { every } from '../../base/wait.ts';
import { type Counts, readCounts, writeCounts } from './settings.ts';

/** Between two checks for anything to write down, milliseconds. */
const FLUSH_MS = 200;

export class Tally implements Disposable {
  readonly #dataDir: string;
  readonly #counts = new Map<string, Record<string, number>>();
  readonly #changed = new Set<string>();
  readonly #timer: Disposable;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    this.#timer = every(MACHINE_CLOCK, FLUSH_MS, () => this.flush());
  }

  /** @param of key of a fault, or name of a behaviour */
  count(of: string, what: string, by = 1): void {
    const counts = this.#of(of);
    counts[what] = (counts[what] ?? 0) + by;
    this.#changed.add(of);
  }

  /** So far, including earlier starts of the node. */
  of(name: string): Counts {
    return this.#of(name);
  }

  flush(): void {
    for (const of of this.#changed) writeCounts(this.#dataDir, of, this.#of(of));
    this.#changed.clear();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.flush();
  }

  #of(name: string): Record<string, number> {
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const counts = { ...readCounts(this.#dataDir, name) };
    this.#counts.set(name, counts);
    return counts;
  }
}
