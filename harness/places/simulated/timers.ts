/** Cancelled timers stay until due, or until they are this many and the majority. */
const CANCELLED_MAX = 1024;
const LAST = 2 ** 52;

class SetTimer implements Disposable {
  readonly at: number;
  readonly order: number;
  wake: (() => void) | undefined;
  readonly #timers: Timers;

  constructor(timers: Timers, at: number, order: number, wake: () => void) {
    this.#timers = timers;
    this.at = at;
    this.order = order;
    this.wake = wake;
  }

  [Symbol.dispose](): void {
    if (this.wake === undefined) return;
    this.wake = undefined;
    this.#timers.cancelled();
  }
}

export class Timers {
  #heap: SetTimer[] = [];
  #orders = 0;
  #cancelled = 0;

  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  /** @param isLast it fires after all others of its instant */
  set(at: number, wake: () => void, isLast = false): Disposable {
    const timer = new SetTimer(this, at, this.#orders++ + (isLast ? LAST : 0), wake);
    this.#push(timer);
    return timer;
  }

  due(): number | undefined {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.wake !== undefined) return first?.at;
      this.#pop();
      this.#cancelled--;
    }
  }

  take(): (() => void) | undefined {
    if (this.due() === undefined) return undefined;
    const { wake } = this.#heap[0] as SetTimer;
    (this.#heap[0] as SetTimer).wake = undefined;
    this.#pop();
    return wake;
  }

  cancelled(): void {
    this.#cancelled++;
    if (this.#cancelled <= CANCELLED_MAX || this.#cancelled <= this.size) return;
    const kept = this.#heap.filter(({ wake }) => wake !== undefined);
    this.#heap = [];
    this.#cancelled = 0;
    for (const timer of kept) this.#push(timer);
  }

  #push(timer: SetTimer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(timer, heap[above] as SetTimer)) break;
      heap[at] = heap[above] as SetTimer;
      at = above;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as SetTimer, heap[below] as SetTimer)) below++;
      if (!isBefore(heap[below] as SetTimer, last)) break;
      heap[at] = heap[below] as SetTimer;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(one: SetTimer, other: SetTimer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
