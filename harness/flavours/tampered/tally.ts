/** Kept on disk to survive a kill. */

import type { Clock } from '../../../formats/clock.ts';
import { type Counts, readCounts, writeCounts } from './settings.ts';

const FLUSH_MS = 200;

export class Tally implements Disposable {
  readonly #dataDir: string;
  readonly #counts = new Map<string, Record<string, number>>();
  readonly #changed = new Set<string>();
  readonly #clock: Pick<Clock, 'timer'>;
  #timer: Disposable | undefined;

  constructor(dataDir: string, clock: Pick<Clock, 'timer'>) {
    this.#dataDir = dataDir;
    this.#clock = clock;
  }

  count(of: string, what: string, by = 1): void {
    const counts = this.#of(of);
    counts[what] = (counts[what] ?? 0) + by;
    this.#changed.add(of);
    this.#timer ??= this.#clock.timer(FLUSH_MS, () => this.flush(), true);
  }

  of(name: string): Counts {
    return this.#of(name);
  }

  flush(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    for (const of of this.#changed) writeCounts(this.#dataDir, of, this.#of(of));
    this.#changed.clear();
  }

  [Symbol.dispose](): void {
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
