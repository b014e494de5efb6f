/**
 * Time and work of a simulation. A round runs what the last one caused; when nothing is left, time jumps to the next timer.
 * Time passes only while someone outside waits for it: by sleeping on `outside`, or for a node's answer (`during`). It
 * stands while the simulation asks for something real (`real`), and during file access.
 */
import { setImmediate } from 'node:timers';
import { type Clock, clockOn } from '../../../formats/clock.ts';
import type { Pace } from './pace.ts';
import { Timers } from './timers.ts';

const EPOCH_MS = 1_700_000_000_000;
/** After so many rounds without passing time, something works without end. */
const ROUNDS_MAX = 100_000;
const FILE_WORK = /^(?:FSReq|CloseReq)/;
const PUT_OFF = 'Immediate';
/** What is still put off is then not part of the simulation, such as a test's loop. */
const PUT_OFF_TURNS_MAX = 1000;
/** Some 20 s of a core: a read of a pipe that nobody writes to never ends. */
const FILE_TURNS_MAX = 5_000_000;
/** Turns that simulations of this process wait for, which are no work that others must wait for. */
let turns = 0;

/** A simulation cannot go on. */
export class StandstillError extends Error {
  readonly code = 'STANDSTILL';
  readonly atMs: number;

  constructor(message: string, atMs: number) {
    super(`${message}, at ${atMs} ms of virtual time`);
    this.name = 'StandstillError';
    this.atMs = atMs;
  }
}

export class VirtualTime implements Disposable {
  #ms = 0;
  #closed = false;
  #waiting = 0;
  #isPassing = false;
  #rounds = 0;
  #work: (() => void)[] = [];
  readonly #timers = new Timers();
  readonly #real: (() => Promise<void>)[] = [];
  readonly #onStandstill = new Set<(error: StandstillError) => void>();
  readonly #fileTurnsMax: number;
  #goOn: (() => void) | undefined;
  /** Asked before each jump; absent: time passes as fast as possible. */
  pace: Pick<Pace, 'hold' | 'message'> | undefined;

  constructor(options: { readonly fileTurnsMax?: number } = {}) {
    this.#fileTurnsMax = options.fileTurnsMax ?? FILE_TURNS_MAX;
  }

  readonly clock: Clock = this.#clock((at, wake) => this.#timers.set(at, wake));
  /**
   * The clock of those who watch: their waits let time pass, except in the background. They wake after all that was due at
   * that instant.
   */
  readonly outside: Clock = this.#clock((at, wake, inBackground) => {
    if (inBackground === true) return this.#timers.set(at, wake, true);
    const waiting = this.waiting();
    const wakeUp = () => {
      waiting[Symbol.dispose]();
      wake();
    };
    const timer = this.#timers.set(at, wakeUp, true);
    return {
      [Symbol.dispose]() {
        timer[Symbol.dispose]();
        waiting[Symbol.dispose]();
      },
    };
  });

  get ms(): number {
    return this.#ms;
  }

  readonly defer = (work: () => void): void => {
    this.#work.push(work);
    this.#pass();
  };

  /**
   * Asks for something real when all else rests, one request at a time. Time stands until the answer, so its duration
   * changes nothing.
   */
  real<T>(ask: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#real.push(() => Promise.try(ask).then(resolve, reject));
    this.#pass();
    return promise;
  }

  /** Lets time pass until the promise settles. @throws StandstillError when nothing more can happen */
  async during<T>(promise: Promise<T>): Promise<T> {
    using _waiting = this.waiting();
    const { promise: standstill, reject } = Promise.withResolvers<never>();
    this.#onStandstill.add(reject);
    try {
      return await Promise.race([promise, standstill]);
    } finally {
      this.#onStandstill.delete(reject);
    }
  }

  advance(ms: number): Promise<void> {
    return this.during(this.outside.sleep(ms));
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#work = [];
    this.#real.length = 0;
    this.#goOn?.();
    this.#halt(new StandstillError('the simulation has ended', this.#ms));
  }

  #clock(set: (at: number, wake: () => void, inBackground?: boolean) => Disposable): Clock {
    return clockOn({
      now: () => EPOCH_MS + this.#ms,
      monotonic: () => this.#ms,
      turn: () => new Promise((resolve) => this.defer(resolve)),
      timer: (ms, wake, inBackground) => {
        // Whole ms, as on a machine: records know no fractions.
        const timer = set(this.#ms + Math.max(0, Math.ceil(ms)), wake, inBackground);
        this.#pass();
        return timer;
      },
    });
  }

  waiting(): Disposable {
    let over = false;
    this.#waiting++;
    this.#pass();
    return {
      [Symbol.dispose]: () => {
        if (over) return;
        over = true;
        this.#waiting--;
      },
    };
  }

  #pass(): void {
    if (this.#isPassing) this.#goOn?.();
    if (this.#isPassing || this.#closed) return;
    this.#isPassing = true;
    void this.#rest();
  }

  async #rest(): Promise<void> {
    try {
      for (;;) {
        await this.#settle();
        if (this.#closed || this.#waiting === 0) return;
        const due = this.#timers.due();
        if (due === undefined) return this.#halt(new StandstillError('nothing is left to happen', this.#ms));
        const held = due > this.#ms ? this.pace?.hold(this.#ms, due) : undefined;
        if (held !== undefined) {
          await this.#held(held);
          continue;
        }
        if (due > this.#ms) this.#rounds = 0;
        this.#ms = Math.max(this.#ms, due);
        this.#timers.take()?.();
      }
    } finally {
      // Before anything else runs: the next to wait starts the rounds again.
      this.#isPassing = false;
    }
  }

  /** Time stands, but what comes from outside meanwhile is worked off. */
  async #held(until: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#goOn = resolve;
    await Promise.race([until, promise]);
    this.#goOn = undefined;
  }

  /** All work, then real requests one by one with their consequences. */
  async #settle(): Promise<void> {
    let idle = 0;
    while (!this.#closed) {
      turns++;
      await new Promise(setImmediate);
      turns--;
      if (this.#work.length > 0) {
        idle = 0;
        this.#round();
      } else if (this.#isBusy(++idle)) {
        continue;
      } else if (this.#real.length === 0) {
        return;
      } else {
        idle = 0;
        await this.#real.shift()?.();
      }
    }
  }

  /** The runtime has work for a later turn: an end of a stream takes a few. @param idle turns since the last work */
  #isBusy(idle: number): boolean {
    let putOff = 0;
    for (const resource of process.getActiveResourcesInfo()) {
      if (resource === PUT_OFF) putOff++;
      else if (FILE_WORK.test(resource)) {
        if (idle < this.#fileTurnsMax) return true;
        this.#halt(new StandstillError('something in this process waits for a file without end', this.#ms));
        return false;
      }
    }
    return putOff > turns && idle < PUT_OFF_TURNS_MAX;
  }

  #round(): void {
    if (++this.#rounds > ROUNDS_MAX) {
      this.#work = [];
      this.#halt(new StandstillError(`work without end: ${ROUNDS_MAX} rounds`, this.#ms));
      return;
    }
    const work = this.#work;
    this.#work = [];
    for (const run of work) run();
  }

  #halt(error: StandstillError): void {
    for (const tell of this.#onStandstill) tell(error);
  }
}
