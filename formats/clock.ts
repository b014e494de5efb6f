// None is looked up as a global later: a test that fakes those means its own time, not the network's.
import { setImmediate, setTimeout } from 'node:timers';
import { TIMER_MAX_MS } from './units.ts';

const wallTime = Date.now;
const monotonicTime = performance.now.bind(performance);

/**
 * Time as nodes and the harness see it. Both receive a `Clock`: only the edges that make one read the machine's.
 * The simulation runs the same code on a virtual clock.
 */
export interface Clock {
  /** Wall time, milliseconds since the unix epoch. */
  now(): number;
  /** Wall time, nanoseconds since the unix epoch; strictly increasing within one process (stamp timestamps). */
  nowNs(): bigint;
  /** Monotonic time in milliseconds, for durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. Leaves no timer behind. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves in a later turn of the event loop: waiting sockets and timers have been served by then. */
  turn(): Promise<void>;
  /**
   * Calls `wake` once after `ms`, unless disposed before. Cheaper than a deadline: no signal, no listener. In
   * per-chunk code it is disposed in `finally`: the engine needs 0.5 µs for a `using`.
   * @param inBackground it does not keep the process alive
   */
  timer(ms: number, wake: () => void, inBackground?: boolean): Disposable;
  /**
   * A signal that aborts with a `TimeoutError` after `ms`, or with `parent`'s reason when that aborts first.
   * @param inBackground it does not keep the process alive
   */
  deadline(ms: number, parent?: AbortSignal, inBackground?: boolean): Deadline;
}

export function unixSeconds(clock: Pick<Clock, 'now'>): bigint {
  return BigInt(Math.floor(clock.now() / 1000));
}

/** Dispose it (`using`) when the operation is over, so that no timer outlives its work. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

export class TimeoutError extends Error {
  readonly code = 'TIMEOUT';
  readonly afterMs: number;

  constructor(afterMs: number) {
    super(`no result within ${afterMs} ms`);
    this.name = 'TimeoutError';
    this.afterMs = afterMs;
  }
}

/** A process that is stopped, or a machine that sleeps, wakes with a timer that is this late. */
const LATE_MS = 1000;
/** Of a deadline; a slice that ends far too late is waited for again. */
const SLICES = 12;
/** Shorter deadlines have none. */
const SLICED_MS = 5000;
/** A machine that is always late still ends a wait. */
const STOPS_MAX = 3;

/** In slices: only time in which the process ran counts, so that after a stop it has time for its work. */
export function runningTimer(
  clock: Pick<TimeSource, 'monotonic' | 'timer'>,
  ms: number,
  wake: () => void,
): Disposable {
  const slice = ms < SLICED_MS ? ms : ms / SLICES;
  let left = ms;
  let stops = 0;
  let sliced: Disposable;
  const next = () => {
    const startedAt = clock.monotonic();
    const length = Math.min(slice, left);
    sliced = clock.timer(length, () => {
      const passed = clock.monotonic() - startedAt;
      const isStop = passed > length + LATE_MS && slice < ms && stops < STOPS_MAX;
      if (isStop) stops++;
      else left -= Math.max(passed, length);
      if (left > 0) next();
      else wake();
    });
  };
  next();
  return { [Symbol.dispose]: () => sliced[Symbol.dispose]() };
}

export interface SystemClockOptions {
  /** Its deadlines do not count the time in which the process is stopped. */
  readonly countsRunning?: boolean;
  /** Its timers keep the process alive: not those of nodes in another program's process. */
  readonly keepsProcess?: boolean;
}

export type TimeSource = Pick<Clock, 'now' | 'monotonic' | 'turn' | 'timer'>;

/** Each clock counts its own nanoseconds: nodes of one process would see each other's number of stamps. */
export function clockOn({ now, monotonic, turn, timer }: TimeSource): Clock {
  let lastNs = 0n;
  return {
    now,
    monotonic,
    turn,
    timer,
    nowNs() {
      const wallNs = BigInt(now()) * 1_000_000n;
      lastNs = wallNs > lastNs ? wallNs : lastNs + 1n;
      return lastNs;
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason as Error);
          return;
        }
        const onAbort = () => {
          sleeping[Symbol.dispose]();
          reject(signal?.reason as Error);
        };
        const sleeping = timer(ms, () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        });
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
    deadline: (ms, parent, inBackground) =>
      new TimerDeadline(ms, parent, (limit, wake) => timer(limit, wake, inBackground)),
  };
}

/** Its timers hold 24 days; a longer wait ends then. */
export function systemClock({ keepsProcess = true, countsRunning = false }: SystemClockOptions = {}): Clock {
  const source: TimeSource = {
    now: () => wallTime(),
    monotonic: () => monotonicTime(),
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    // The runtime's timers are themselves disposable; an object literal with a symbol as key costs more than the timer.
    timer(ms, wake, inBackground = false) {
      const timer = setTimeout(wake, Math.min(ms, TIMER_MAX_MS));
      return keepsProcess && !inBackground ? timer : timer.unref();
    },
  };
  const clock = clockOn(source);
  if (!countsRunning) return clock;
  const { monotonic, timer } = source;
  return {
    ...clock,
    deadline: (ms, parent, inBackground) =>
      new TimerDeadline(ms, parent, (limit, wake) =>
        runningTimer({ monotonic, timer: (each, then) => timer(each, then, inBackground) }, limit, wake),
      ),
  };
}

class TimerDeadline implements Deadline {
  readonly signal: AbortSignal;
  readonly #timer: Disposable;
  readonly #parent: AbortSignal | undefined;
  readonly #onParent: () => void;

  constructor(ms: number, parent: AbortSignal | undefined, timer: TimeSource['timer']) {
    const controller = new AbortController();
    this.signal = controller.signal;
    this.#parent = parent;
    this.#timer = timer(ms, () => {
      parent?.removeEventListener('abort', this.#onParent);
      controller.abort(new TimeoutError(ms));
    });
    this.#onParent = () => {
      this.#timer[Symbol.dispose]();
      controller.abort(parent?.reason);
    };
    if (parent?.aborted === true) this.#onParent();
    else parent?.addEventListener('abort', this.#onParent, { once: true });
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#parent?.removeEventListener('abort', this.#onParent);
  }
}
