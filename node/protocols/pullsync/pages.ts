/**
 * What is offered to peers: the entries of a bin from an id on, collected until there are enough of them or the bin has
 * been quiet for a moment. A bin without such entries is waited for as long as somebody asks, and everybody who asks
 * for the same shares one collection.
 */

import { abortable } from '../../env/abortable.ts';
import type { Clock } from '../../env/clock.ts';
import { SingleFlight } from '../../env/turns/single-flight.ts';
import type { Reserve, ReserveItem } from '../../store/ports.ts';
import { PAGE_IDLE_MS, PAGE_SIZE } from './rules.ts';

/** Ascending by bin id, at least one. */
export type Page = readonly ReserveItem[];

export interface PagesDeps {
  readonly reserve: Pick<Reserve, 'items' | 'onPut'>;
  readonly clock: Clock;
}

export class Pages {
  readonly #deps: PagesDeps;
  readonly #collections = new SingleFlight<Page>();
  /** Bin → who waits for its next entries. */
  readonly #watched = new Map<number, Set<BinNews>>();

  constructor(deps: PagesDeps) {
    this.#deps = deps;
    deps.reserve.onPut((bin) => {
      for (const news of this.#watched.get(bin) ?? []) news.arrived();
    });
  }

  /** @throws the signal's reason */
  page(bin: number, start: bigint, signal: AbortSignal): Promise<Page> {
    return this.#collections.join(`${bin}-${start}`, signal, (ending) => this.#collect(bin, start, ending));
  }

  async #collect(bin: number, start: bigint, signal: AbortSignal): Promise<Page> {
    const { reserve } = this.#deps;
    const items: ReserveItem[] = [];
    const look = () => {
      const last = items.at(-1);
      const from = last === undefined ? start : last.binId + 1n;
      items.push(...reserve.items(bin, from, PAGE_SIZE - items.length));
    };
    using news = this.#watch(bin);
    look();
    while (items.length === 0) {
      await news.reach(1, signal);
      look();
    }
    while (items.length < PAGE_SIZE) {
      const more = await news.reach(PAGE_SIZE - items.length, signal, PAGE_IDLE_MS);
      look();
      if (!more) break;
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

/** Counts the entries that a bin gets, so that one look at the store is enough for many. */
class BinNews implements Disposable {
  readonly #clock: Clock;
  readonly #dispose: () => void;
  #count = 0;
  #lastAt = 0;
  #wanted: { readonly count: number; readonly reached: (enough: boolean) => void } | undefined;

  constructor(clock: Clock, dispose: () => void) {
    this.#clock = clock;
    this.#dispose = dispose;
  }

  arrived(): void {
    this.#count++;
    this.#lastAt = this.#clock.monotonic();
    if (this.#wanted !== undefined && this.#count >= this.#wanted.count) this.#wanted.reached(true);
  }

  /**
   * True after `count` more entries, counted from the last call on; false when none came for `idleMs`.
   * @throws the signal's reason
   */
  async reach(count: number, signal: AbortSignal, idleMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    const enough = Promise.withResolvers<boolean>();
    this.#lastAt = this.#clock.monotonic();
    this.#wanted = { count, reached: enough.resolve };
    let timer: Disposable | undefined;
    const idle = () => {
      const rest = this.#lastAt + idleMs - this.#clock.monotonic();
      if (rest <= 0) enough.resolve(false);
      else timer = this.#clock.timer(rest, idle);
    };
    if (Number.isFinite(idleMs)) idle();
    try {
      return await abortable(enough.promise, signal);
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
