/**
 * Requests that wait until a peer grants credit again. They are woken in order, as many as the credit covers, the
 * moment something is paid: a cheque takes milliseconds, so a fixed pause would be most of a light node's reading
 * time.
 */
import type { Clock } from '../../formats/clock.ts';
import type { MetricsOf } from '../env/metrics.ts';
import type { ACCOUNTING_METRICS } from './metrics.ts';

interface Waiter {
  readonly price: bigint;
  readonly wake: () => void;
}

interface CreditQueueDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Pick<MetricsOf<typeof ACCOUNTING_METRICS>, 'creditWait'>;
}

/** `K` is an account. */
export class CreditQueue<K extends object> {
  readonly #deps: CreditQueueDeps;
  readonly #waiters = new WeakMap<K, Set<Waiter>>();
  #waiting = 0;
  /** Since when requests have been waiting without a break, monotonic. */
  #since = 0;

  constructor(deps: CreditQueueDeps) {
    this.#deps = deps;
  }

  /** Dispose it when the request no longer waits. */
  add(account: K, price: bigint, wake: () => void): Disposable {
    const waiter = { price, wake };
    const waiters = this.#waiters.get(account) ?? new Set();
    this.#waiters.set(account, waiters.add(waiter));
    if (this.#waiting === 0) this.#since = this.#deps.clock.monotonic();
    this.#waiting += 1;
    return { [Symbol.dispose]: () => this.#remove(waiters, waiter) };
  }

  /**
   * Wakes in order.
   * @param fits whether the price is covered now; the woken request reserves it
   * @returns whether any still waits
   */
  serve(account: K, fits: (price: bigint) => boolean): boolean {
    const waiters = this.#waiters.get(account);
    if (waiters === undefined || waiters.size === 0) return false;
    for (const waiter of waiters) {
      if (!fits(waiter.price)) return true;
      this.#remove(waiters, waiter);
      waiter.wake();
    }
    return false;
  }

  #remove(waiters: Set<Waiter>, waiter: Waiter): void {
    if (!waiters.delete(waiter)) return;
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#deps.metrics.creditWait.inc((this.#deps.clock.monotonic() - this.#since) / 1000);
  }
}
