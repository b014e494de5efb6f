const WINDOWS_MAX = 1800;
const WINDOW_MS = 1000;

/**
 * One operation over all nodes. Arrays have an entry per window, by the operation's end. Latencies are null without
 * successes; p99 is the largest sample if too few.
 */
export interface OperationTimeline {
  /** What was done, such as `upload file`. */
  readonly operation: string;
  /** Start of the first window, ms since the epoch. */
  readonly startMs: number;
  /** Length of a window, milliseconds. */
  readonly windowMs: number;
  /** Operations that succeeded. */
  readonly count: readonly number[];
  /** Payload that they moved. */
  readonly bytes: readonly number[];
  /** Operations that failed. */
  readonly errors: readonly number[];
  /** Milliseconds. */
  readonly p50Ms: readonly (number | null)[];
  /** Milliseconds. */
  readonly p99Ms: readonly (number | null)[];
  /** Milliseconds. */
  readonly maxMs: readonly (number | null)[];
}

interface Window {
  bytes: number;
  errors: number;
  latenciesMs: number[];
}

export class TimelineRecorder {
  readonly #windows = new Map<number, Window>();

  succeeded(endMs: number, latencyMs: number, bytes: number): void {
    const window = this.#at(endMs);
    window.latenciesMs.push(latencyMs);
    window.bytes += bytes;
  }

  failed(endMs: number): void {
    this.#at(endMs).errors++;
  }

  timeline(operation: string): OperationTimeline | undefined {
    if (this.#windows.size === 0) return undefined;
    const seconds = [...this.#windows.keys()];
    const first = seconds.reduce((a, b) => Math.min(a, b));
    const last = seconds.reduce((a, b) => Math.max(a, b));
    const span = Math.ceil((last - first + 1) / WINDOWS_MAX);
    const windows: Window[] = Array.from({ length: Math.ceil((last - first + 1) / span) }, () => ({
      bytes: 0,
      errors: 0,
      latenciesMs: [],
    }));
    for (const [second, { bytes, errors, latenciesMs }] of this.#windows) {
      const window = windows[Math.floor((second - first) / span)] as Window;
      window.bytes += bytes;
      window.errors += errors;
      for (const ms of latenciesMs) window.latenciesMs.push(ms);
    }
    for (const { latenciesMs } of windows) latenciesMs.sort((a, b) => a - b);
    const at = (share: number) => (window: Window) => quantile(window.latenciesMs, share);
    return {
      operation,
      startMs: first * WINDOW_MS,
      windowMs: span * WINDOW_MS,
      count: windows.map(({ latenciesMs }) => latenciesMs.length),
      bytes: windows.map(({ bytes }) => bytes),
      errors: windows.map(({ errors }) => errors),
      p50Ms: windows.map(at(0.5)),
      p99Ms: windows.map(at(0.99)),
      maxMs: windows.map(at(1)),
    };
  }

  #at(endMs: number): Window {
    const second = Math.floor(endMs / WINDOW_MS);
    let window = this.#windows.get(second);
    if (window === undefined) this.#windows.set(second, (window = { bytes: 0, errors: 0, latenciesMs: [] }));
    return window;
  }
}

/** Nearest rank. */
function quantile(sorted: readonly number[], share: number): number | null {
  if (sorted.length === 0) return null;
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
}
