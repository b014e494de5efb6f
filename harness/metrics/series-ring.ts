import type { Scrape } from './scrape.ts';
import type { Series, SeriesColumns, SeriesId } from './series.ts';

/** The latest scrapes in memory, up to a given number, for watching a cluster while it works. */
export class SeriesRing {
  readonly #capacity: number;
  readonly #wanted: (id: SeriesId) => boolean;
  readonly #times: Float64Array;
  readonly #columns = new Map<number, Series>();
  #known = 0;
  #count = 0;

  /** @param wanted series that are kept: each costs 8 bytes a scrape */
  constructor(capacity: number, wanted: (id: SeriesId) => boolean = () => true) {
    this.#capacity = capacity;
    this.#wanted = wanted;
    this.#times = new Float64Array(capacity);
  }

  append({ at, values }: Scrape, ids: readonly SeriesId[]): void {
    for (const [i, id] of ids.slice(this.#known).entries()) {
      if (!this.#wanted(id)) continue;
      this.#columns.set(this.#known + i, {
        ...id,
        values: new Float64Array(this.#capacity).fill(Number.NaN),
      });
    }
    this.#known = ids.length;
    const row = this.#count++ % this.#capacity;
    this.#times[row] = at;
    for (const [number, column] of this.#columns) column.values[row] = values.get(number) ?? Number.NaN;
  }

  /** Oldest first; a copy. */
  columns(): SeriesColumns {
    const from = this.#count > this.#capacity ? this.#count % this.#capacity : 0;
    const inOrder = (ring: Float64Array) =>
      Float64Array.from(
        { length: Math.min(this.#count, this.#capacity) },
        (_, i) => ring[(from + i) % this.#capacity] as number,
      );
    return {
      times: inOrder(this.#times),
      series: [...this.#columns.values()].map((series) => ({ ...series, values: inOrder(series.values) })),
    };
  }
}
