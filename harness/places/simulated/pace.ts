/**
 * How fast a simulation's time passes before the eyes of a person. What happens at an instant, and in which order, is the
 * same at every pace.
 */
import type { Clock } from '../../../formats/clock.ts';

/** A simulation that is later than this does not hurry to make up for it. */
const LATE_MS = 250;
const STEP_MS = 1000;

/** A virtual instant, or the count of messages that has to grow; undefined: counted from the next jump. */
type Step = { readonly untilMs: number } | { readonly messages: number | undefined };

export class Pace {
  readonly #clock: Pick<Clock, 'monotonic' | 'timer'>;
  #rate: number | undefined;
  #isPaused = false;
  #isOver = false;
  #step: Step | undefined;
  #messages = 0;
  /** An instant of both times from which the rate is counted. */
  #anchor: { readonly realMs: number; readonly ms: number } | undefined;
  /** Where time stands, and may stand until the next jump. */
  #shown = { ms: 0, dueMs: 0 };
  #goOn = (): void => undefined;

  /** @param clock the machine's @param rate virtual per real time; undefined: as fast as possible */
  constructor(clock: Pick<Clock, 'monotonic' | 'timer'>, rate: number | undefined) {
    this.#clock = clock;
    this.#rate = rate;
  }

  get rate(): number | undefined {
    return this.#rate;
  }

  /** Time stands until it is told to go on. */
  get isPaused(): boolean {
    return this.#isPaused && this.#step === undefined;
  }

  begin(ms: number): void {
    this.#change(() => (this.#shown = { ms, dueMs: ms }));
  }

  /** @param rate undefined: as fast as possible */
  set(rate: number | undefined): void {
    this.#change(() => (this.#rate = rate));
  }

  pause(): void {
    this.#change(() => {
      this.#isPaused = true;
      this.#step = undefined;
    });
  }

  continue(): void {
    this.#change(() => {
      this.#isPaused = false;
      this.#step = undefined;
    });
  }

  toNextMessage(): void {
    this.#change(() => {
      this.#isPaused = true;
      // What the present instant still says comes before it.
      this.#step = { messages: undefined };
    });
  }

  aSecond(): void {
    this.#change(() => {
      const fromMs = this.shownMs;
      this.#isPaused = true;
      this.#step = { untilMs: fromMs + STEP_MS };
    });
  }

  end(): void {
    this.#change(() => (this.#isOver = true));
  }

  message(): void {
    this.#messages++;
  }

  /** Virtual ms since the beginning, as a clock on the wall would show: between two jumps it goes on. */
  get shownMs(): number {
    const { ms, dueMs } = this.#shown;
    if (this.#isPaused || this.#rate === undefined || this.#anchor === undefined) return ms;
    // What is due has not happened yet, however late it is.
    return Math.max(ms, Math.min(dueMs - 1, this.#allowedMs(this.#anchor, this.#rate)));
  }

  /**
   * @param ms where time is @param dueMs where it wants to jump
   * @returns undefined: it may; else to ask again when this resolves
   */
  hold(ms: number, dueMs: number): Promise<void> | undefined {
    const verdict = this.#hold(Math.max(ms, this.#shown.ms), dueMs);
    this.#shown = { ms: verdict === undefined ? dueMs : Math.max(ms, this.#shown.ms), dueMs };
    return verdict;
  }

  #hold(ms: number, dueMs: number): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (this.#step !== undefined) {
      if (this.#isWithin(this.#step, dueMs)) return undefined;
      if ('untilMs' in this.#step) this.#shown = { ms: this.#step.untilMs, dueMs };
      this.#step = undefined;
    }
    if (this.#isPaused) return this.#wait();
    if (this.#rate === undefined) return undefined;
    const realMs = this.#clock.monotonic();
    this.#anchor ??= { realMs, ms };
    const earlyMs = (dueMs - this.#allowedMs(this.#anchor, this.#rate)) / this.#rate;
    if (earlyMs < -LATE_MS) this.#anchor = { realMs, ms: dueMs };
    return earlyMs <= 0 ? undefined : this.#wait(earlyMs);
  }

  #isWithin(step: Step, dueMs: number): boolean {
    if ('untilMs' in step) return dueMs <= step.untilMs;
    if (step.messages === undefined) this.#step = { messages: this.#messages };
    return step.messages === undefined || this.#messages === step.messages;
  }

  #allowedMs(anchor: { readonly realMs: number; readonly ms: number }, rate: number): number {
    return anchor.ms + (this.#clock.monotonic() - anchor.realMs) * rate;
  }

  #wait(ms?: number): Promise<void> {
    this.#goOn();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = ms === undefined ? undefined : this.#clock.timer(ms, resolve);
    this.#goOn = () => {
      timer?.[Symbol.dispose]();
      resolve();
    };
    return promise;
  }

  #change(change: () => void): void {
    this.#shown = { ...this.#shown, ms: this.shownMs };
    change();
    this.#anchor = undefined;
    this.#goOn();
  }
}
