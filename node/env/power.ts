/**
 * Power of a node that shares its process. Everything from outside passes `run`, so the owner can freeze or end it at any
 * moment: running code gets to its next wait.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { type Clock, clockOn } from '../../formats/clock.ts';
import { RingEntry } from '../../formats/ring.ts';
import type { SharedResults } from '../../formats/shared-results.ts';

const current = new AsyncLocalStorage<Power>();
/** Runs without a context: a node would keep its builder's. */
const outside = AsyncLocalStorage.snapshot();

export type PowerState = 'on' | 'frozen' | 'off';

export class Power {
  readonly #crashed: (error: unknown) => void;
  /** One for all: making one costs more than most work. */
  readonly #scope: AsyncResource = outside(() => current.run(this, () => new AsyncResource('POWER')));
  readonly #listeners = new Set<(state: PowerState) => Promise<void> | void>();
  #waiting: (() => void)[] = [];
  #state: PowerState = 'on';
  #piecesLeft = Number.POSITIVE_INFINITY;

  readonly shared: SharedResults | undefined;

  /** @param crashed called with an uncaught error, once off */
  constructor(crashed: (error: unknown) => void, shared?: SharedResults) {
    this.#crashed = crashed;
    this.shared = shared;
  }

  /** Of running code, or of what created the failed promise or timer. */
  static current(): Power | undefined {
    return current.getStore();
  }

  get state(): PowerState {
    return this.#state;
  }

  /** Now or, if frozen, at the thaw, in order; never when off. */
  run(work: () => void): void {
    if (this.#state === 'off') return;
    if (this.#state === 'frozen' || this.#waiting.length > 0) this.#waiting.push(work);
    else this.#run(work);
  }

  /** The promise settles while the power is on, or never. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const settled = (settle: () => void) => this.run(settle);
      this.run(() => {
        Promise.try(work).then(
          (value) => settled(() => resolve(value)),
          (error: unknown) => settled(() => reject(error)),
        );
      });
    });
  }

  freeze(): void {
    if (this.#state === 'on') void this.#become('frozen');
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    void this.#become('on');
    while (this.state === 'on' && this.#waiting.length > 0) {
      // After it has run: its consequences come after other waiting work.
      this.#run(this.#waiting[0] as () => void);
      this.#waiting.shift();
    }
  }

  /** Takes effect at once. Resolves when files and sockets are released. */
  async cut(): Promise<void> {
    if (this.#state === 'off') return;
    this.#waiting = [];
    const released = this.#become('off');
    this.#listeners.clear();
    await released;
  }

  /** Cuts it in place of the piece of work after so many others. Resolves when off. */
  cutAfter(pieces: number): Promise<void> {
    this.#piecesLeft = pieces;
    return new Promise((resolve) => this.onChange((state) => (state === 'off' ? resolve() : undefined)));
  }

  crash(error: unknown): void {
    if (this.#state === 'off') return;
    void this.cut();
    this.#crashed(error);
  }

  /** Reports `off` at once if already off. @returns ends the calls */
  onChange(listener: (state: PowerState) => Promise<void> | void): () => void {
    if (this.#state === 'off') void listener('off');
    else this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #become(state: PowerState): Promise<void> {
    this.#state = state;
    await Promise.all(Array.from(this.#listeners, async (listener) => listener(state)));
  }

  #run(work: () => void): void {
    if (this.#piecesLeft-- <= 0) return void this.cut();
    try {
      if (Power.current() === this) work();
      else this.#scope.runInAsyncScope(work);
    } catch (error) {
      this.crash(error);
    }
  }
}

/** Of one node: timers wait while it is frozen, and are dropped when off. */
export function poweredClock(base: Clock, power: Power): Clock {
  const running = new PoweredTimer(power);
  power.onChange((state) => {
    if (state === 'off') running.disposeOthers();
  });
  const timer = (ms: number, wake: () => void): Disposable => {
    if (power.state === 'off') return NO_TIMER;
    const made = new PoweredTimer(power, wake, running);
    made.start(base, ms);
    return made;
  };
  return clockOn({
    now: () => base.now(),
    monotonic: () => base.monotonic(),
    timer,
    turn: () => new Promise((resolve) => void base.turn().then(() => power.run(resolve))),
  });
}

const NO_TIMER: Disposable = { [Symbol.dispose]: () => undefined };

class PoweredTimer extends RingEntry implements Disposable {
  readonly #power: Power;
  #wake: (() => void) | undefined;
  #timer: Disposable | undefined;

  /** @param ring whose last it becomes; default: begins one, never started */
  constructor(power: Power, wake?: () => void, ring?: PoweredTimer) {
    super();
    this.#power = power;
    this.#wake = wake;
    if (ring !== undefined) this.join(ring);
  }

  start(base: Clock, ms: number): void {
    this.#timer = base.timer(ms, () => {
      this.leave();
      this.#power.run(() => this.#wake?.());
    });
  }

  [Symbol.dispose](): void {
    this.#wake = undefined;
    this.leave();
    this.#timer?.[Symbol.dispose]();
  }

  /** In the order in which they were set. */
  disposeOthers(): void {
    while (this.after !== this) (this.after as PoweredTimer)[Symbol.dispose]();
  }
}
