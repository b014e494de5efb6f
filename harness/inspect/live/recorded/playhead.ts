/** Where a record that is played stands: what has happened until then is shown. */
import type { Clock } from '../../../../formats/clock.ts';

export class Playhead {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #fromMs: number;
  readonly #toMs: number;
  #rate = 1;
  /** Where it stood at an instant of the clock; without one it stands. */
  #anchor: { readonly ms: number; readonly clockMs?: number };

  /** @param span of the record, ms since the epoch */
  constructor(
    clock: Pick<Clock, 'monotonic'>,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ) {
    this.#clock = clock;
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#anchor = { ms: fromMs };
  }

  get nowMs(): number {
    const { ms, clockMs } = this.#anchor;
    if (clockMs === undefined) return ms;
    return Math.min(this.#toMs, ms + (this.#clock.monotonic() - clockMs) * this.#rate);
  }

  /** By a person, or at the end. */
  get isPaused(): boolean {
    return this.#anchor.clockMs === undefined || this.nowMs >= this.#toMs;
  }

  get rate(): number {
    return this.#rate;
  }

  /** From the beginning if it is at the end. */
  continue(): void {
    const ms = this.nowMs;
    this.#anchor = { ms: ms >= this.#toMs ? this.#fromMs : ms, clockMs: this.#clock.monotonic() };
  }

  pause(): void {
    this.#anchor = { ms: this.nowMs };
  }

  /** @param rate of the record's time per real time */
  set(rate: number): void {
    const { nowMs, isPaused } = this;
    this.#rate = rate;
    this.#anchor = isPaused ? { ms: nowMs } : { ms: nowMs, clockMs: this.#clock.monotonic() };
  }

  /** Goes on from there if it was playing. @param ms since the epoch; what is outside is its nearest end */
  seek(ms: number): void {
    const { isPaused } = this;
    const to = Math.min(this.#toMs, Math.max(this.#fromMs, ms));
    this.#anchor = isPaused ? { ms: to } : { ms: to, clockMs: this.#clock.monotonic() };
  }
}
