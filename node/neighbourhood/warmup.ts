/**
 * Whether the node has found its place: at first peers arrive by the dozen, and any judgement would rest on the first.
 * `p2p-protocols.md` 7.1, `node-behaviour.md` 1.5. Starts with the first peer, and ends when arrivals have become rare,
 * which is checked at arrivals, or after a time limit.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Metrics } from '../env/metrics.ts';
import { WARMUP_METRICS } from './metrics.ts';

/** Arrivals are counted per period. */
const PERIOD_MS = 2000;
const COMPARED_PERIODS = 5;
/** The first ones say nothing. */
const PERIODS_MIN = 7;
/** Sample standard deviation per period below which arrivals are steady. */
const DEVIATION_MAX = 3;

export interface WarmUpOptions {
  readonly timeMs: number;
}

export interface WarmUpDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export interface WarmUp {
  /** Dialled by either side. */
  connected(): void;
  isOver(): boolean;
  /** At once if over. */
  onOver(listener: () => void): void;
  /** If not over, it never will be. */
  stop(): void;
}

export function createWarmUp(options: WarmUpOptions, deps: WarmUpDeps): WarmUp {
  return new ArrivalRate(options, deps);
}

class ArrivalRate implements WarmUp {
  readonly #timeMs: number;
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #listeners: (() => void)[] = [];
  #state: 'idle' | 'counting' | 'over' | 'stopped' = 'idle';
  #limit: Disposable | undefined;
  /** Monotonic. */
  #periodStart = 0;
  #arrivals = 0;
  /** Completed periods, oldest first. */
  #ended: number[] = [];

  constructor(options: WarmUpOptions, deps: WarmUpDeps) {
    const createdAt = deps.clock.monotonic();
    const { duration } = deps.metrics.register(WARMUP_METRICS);
    this.#timeMs = options.timeMs;
    this.#clock = deps.clock;
    this.#onEnd = () => duration.observe((this.#clock.monotonic() - createdAt) / 1000);
  }

  connected(): void {
    if (this.#state === 'idle') this.#begin();
    else if (this.#state === 'counting') this.#count();
  }

  isOver(): boolean {
    return this.#state === 'over';
  }

  onOver(listener: () => void): void {
    if (this.#state === 'over') listener();
    else this.#listeners.push(listener);
  }

  stop(): void {
    this.#limit?.[Symbol.dispose]();
    if (this.#state !== 'over') this.#state = 'stopped';
    this.#listeners = [];
  }

  #begin(): void {
    this.#state = 'counting';
    this.#periodStart = this.#clock.monotonic();
    this.#arrivals = 1;
    if (this.#timeMs === 0) this.#end();
    else this.#limit = this.#clock.timer(this.#timeMs, () => this.#end());
  }

  #count(): void {
    const now = this.#clock.monotonic();
    while (now - this.#periodStart >= PERIOD_MS) {
      this.#ended = [...this.#ended, this.#arrivals].slice(-PERIODS_MIN);
      this.#arrivals = 0;
      this.#periodStart += PERIOD_MS;
      if (isSteady(this.#ended)) {
        this.#end();
        return;
      }
    }
    this.#arrivals++;
  }

  #end(): void {
    this.#limit?.[Symbol.dispose]();
    this.#state = 'over';
    this.#onEnd();
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

/** @param arrivals oldest first */
function isSteady(arrivals: readonly number[]): boolean {
  if (arrivals.length < PERIODS_MIN) return false;
  const compared = arrivals.slice(-COMPARED_PERIODS);
  const mean = compared.reduce((sum, count) => sum + count, 0) / COMPARED_PERIODS;
  const squares = compared.reduce((sum, count) => sum + (count - mean) ** 2, 0);
  return Math.sqrt(squares / (COMPARED_PERIODS - 1)) < DEVIATION_MAX;
}
