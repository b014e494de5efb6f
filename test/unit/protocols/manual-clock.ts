import { setImmediate } from 'node:timers/promises';
import { type Clock, clockOn, type Deadline } from '../../../formats/clock.ts';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

const EPOCH_MS = 1_700_000_000_000;
/** After so many turns everything that a timer woke has come to rest; hosts in memory need one. */
const TURNS = 3;

/** `advance` moves time from timer to timer; what a timer wakes comes to rest before the next. */
export class ManualClock implements Clock {
  readonly #time: { ms: number; timers: Timer[] };
  #offsetMs: number;
  readonly #rest = clockOn({
    now: () => this.now(),
    monotonic: () => this.monotonic(),
    turn: () => this.turn(),
    timer: (ms, wake) => this.timer(ms, wake),
  });

  constructor(time: { ms: number; timers: Timer[] } = { ms: 0, timers: [] }, offsetMs = 0) {
    this.#time = time;
    this.#offsetMs = offsetMs;
  }

  /** Same time, wall clock ahead by `offsetMs`. */
  shifted(offsetMs: number): ManualClock {
    return new ManualClock(this.#time, this.#offsetMs + offsetMs);
  }

  /** Monotonic time goes on as before. */
  set(offsetMs: number): void {
    this.#offsetMs = offsetMs;
  }

  now(): number {
    return EPOCH_MS + this.#time.ms + this.#offsetMs;
  }

  monotonic(): number {
    return this.#time.ms;
  }

  nowNs(): bigint {
    return this.#rest.nowNs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#rest.sleep(ms, signal);
  }

  turn(): Promise<void> {
    return setImmediate();
  }

  timer(ms: number, wake: () => void): Disposable {
    const timer = { at: this.#time.ms + ms, fire: wake };
    this.#time.timers.push(timer);
    return { [Symbol.dispose]: () => this.#drop(timer) };
  }

  deadline(ms: number, parent?: AbortSignal): Deadline {
    return this.#rest.deadline(ms, parent);
  }

  get running(): number {
    return this.#time.timers.length;
  }

  async advance(ms: number): Promise<void> {
    const until = this.#time.ms + ms;
    await this.settle();
    for (;;) {
      const next = this.#earliest();
      if (next === undefined || next.at > until) break;
      this.#drop(next);
      this.#time.ms = next.at;
      next.fire();
      await this.settle();
    }
    // Someone else may have advanced it meanwhile, and further.
    this.#time.ms = Math.max(this.#time.ms, until);
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await setImmediate();
  }

  #earliest(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#time.timers) if (first === undefined || timer.at < first.at) first = timer;
    return first;
  }

  #drop(timer: Timer): void {
    const at = this.#time.timers.indexOf(timer);
    if (at >= 0) this.#time.timers.splice(at, 1);
  }
}
