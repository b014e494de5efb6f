/**
 * Pages of a bin from an id on: collected until full, until the reserve has been quiet for a moment, or until the first
 * entry has waited long enough. Waits as long as a peer asks; requests for the same page share one collection.
 */

import type { Clock } from '../../../formats/clock.ts';
import { abortable } from '../../env/abortable.ts';
import { SingleFlight } from '../../env/turns/single-flight.ts';
import type { Reserve, ReserveItem } from '../../store/ports.ts';
import { PAGE_IDLE_MS, PAGE_MAX_MS, PAGE_SIZE } from './rules.ts';

/** Ascending by bin id, at least one. */
export type Page = readonly ReserveItem[];

export interface PagesDeps {
  readonly reserve: Pick<Reserve, 'items' | 'onPut'>;
  readonly clock: Clock;
  /** Most entries of a page. Default: as many as a peer accepts. */
  readonly offeredEntries?: number | undefined;
}

export class Pages {
  readonly #deps: PagesDeps;
  readonly #size: number;
  readonly #collections = new SingleFlight<Page>();
  /** Bin → waiters for its next entries. */
  readonly #watched = new Map<number, Set<BinNews>>();
  /** Monotonic time of the last entry of any bin. */
  #lastPut = Number.NEGATIVE_INFINITY;

  constructor(deps: PagesDeps) {
    this.#deps = deps;
    this.#size = deps.offeredEntries ?? PAGE_SIZE;
    deps.reserve.onPut((bin) => {
      this.#lastPut = deps.clock.monotonic();
      for (const news of this.#watched.get(bin) ?? []) news.arrived();
    });
  }

  /** @throws the signal's reason */
  page(bin: number, start: bigint, signal: AbortSignal): Promise<Page> {
    return this.#collections.join(`${bin}-${start}`, signal, (ending) => this.#collect(bin, start, ending));
  }

  async #collect(bin: number, start: bigint, signal: AbortSignal): Promise<Page> {
    const { clock, reserve } = this.#deps;
    const items: ReserveItem[] = [];
    const read = () => {
      const last = items.at(-1);
      const from = last === undefined ? start : last.binId + 1n;
      items.push(...reserve.items(bin, from, this.#size - items.length));
    };
    using news = this.#watch(bin);
    read();
    while (items.length === 0) {
      await news.reach(1, signal);
      read();
    }
    if (items.length < this.#size) {
      const endsAt = clock.monotonic() + PAGE_MAX_MS;
      await news.reach(this.#size - items.length, signal, () =>
        Math.min(endsAt, this.#lastPut + PAGE_IDLE_MS),
      );
      read();
    }
    return items;
  }

  #watch(bin: number): BinNews & Disposable {
    const watching = this.#watched.get(bin) ?? new Set();
    this.#watched.set(bin, watching);
    const news = new BinNews(this.#deps.clock, () => watching.delete(news));
    watching.add(news);
    return news;
  }
}

class BinNews implements Disposable {
  readonly #clock: Clock;
  readonly #dispose: () => void;
  #count = 0;
  #wanted: { readonly count: number; readonly reached: () => void } | undefined;

  constructor(clock: Clock, dispose: () => void) {
    this.#clock = clock;
    this.#dispose = dispose;
  }

  arrived(): void {
    this.#count++;
    if (this.#wanted !== undefined && this.#count >= this.#wanted.count) this.#wanted.reached();
  }

  /**
   * After `count` more entries since the last call, or at a monotonic time that new entries may postpone.
   * @throws the signal's reason
   */
  async reach(
    count: number,
    signal: AbortSignal,
    endsAt: () => number = () => Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const enough = Promise.withResolvers<void>();
    this.#wanted = { count, reached: enough.resolve };
    let timer: Disposable | undefined;
    const wait = () => {
      const rest = endsAt() - this.#clock.monotonic();
      if (rest <= 0) enough.resolve();
      else if (Number.isFinite(rest)) timer = this.#clock.timer(rest, wait);
    };
    wait();
    try {
      await abortable(enough.promise, signal);
    } finally {
      timer?.[Symbol.dispose]();
      this.#wanted = undefined;
      this.#count = 0;
    }
  }

  [Symbol.dispose](): void {
    this.#dispose();
  }
}
