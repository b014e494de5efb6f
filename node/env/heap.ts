/**
 * Releases an idle process's memory: V8 collects only on demand. Measured: 48 MiB not backed by files after a start,
 * 34 MiB after release.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../formats/clock.ts';

/** A large cluster's first nodes idle while others start. */
const FIRST_MS = 30_000;
/** Idle time before a full collection, a tenth of a second. */
const REST_MS = 5000;
/** Between checks while working; at rest `REST_MS`. */
const CHECK_MS = REST_MS / 2;
/**
 * Busy share that counts as idle: a node without traffic has three thousandths, a process of fifty half of this. Less
 * keeps 20 MiB more, for 5 % less processor per chunk.
 */
const REST_SHARE = 0.1;
/** Of the time: a large heap is collected seldom. */
const COLLECTIONS_SHARE_MAX = 0.01;
/** Smaller ones are not worth it; afterwards one megabyte. */
const YOUNG_BYTES_MIN = 4 * 1024 * 1024;
/**
 * Of live data, before V8 collects: its default more than doubles, and keeps chunk buffers. Streaming 48 MiB: 65 MiB
 * less for the uploader, 35 MiB for the reader, at equal cost.
 */
const OLD_GROWTH_PERCENT = 60;

export interface HeapDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** Time with something to do, ms; processor time is small when many share cores. */
  readonly busyMs: () => number;
  /** Size of the young generation, bytes. */
  readonly youngBytes: () => number;
  /** Collects all garbage and releases the memory. */
  readonly collect: () => void;
  /** Makes V8 collect garbage in the old generation after less growth. */
  readonly boundGrowth: () => void;
}

/** Bytes; then the process ends. */
export function heapLimit(): number {
  return getHeapStatistics().heap_size_limit;
}

/** The heap of this process. */
export function processHeap(): Omit<HeapDeps, 'clock'> {
  return {
    busyMs: () => performance.eventLoopUtilization().active,
    youngBytes: () =>
      getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0,
    collect: collector(),
    boundGrowth: () => setFlagsFromString(`--heap-growing-percent=${OLD_GROWTH_PERCENT}`),
  };
}

/**
 * Bounds the heap's growth, and releases memory when idle, until disposed.
 * Not by command line: that flag voids the runtime's compiled code, 27 ms per process.
 */
export function keepHeapSmall({ clock, busyMs, youngBytes, collect, boundGrowth }: HeapDeps): Disposable {
  let samples = [sample()];
  /** What a start leaves behind is old by then. */
  let isFirst = true;
  /** Earliest time of the next collection. */
  let collectAtMs = clock.monotonic() + FIRST_MS;
  let timer = clock.timer(CHECK_MS, () => {
    boundGrowth();
    check();
  });
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };

  function sample(): { readonly atMs: number; readonly busyMs: number } {
    return { atMs: clock.monotonic(), busyMs: busyMs() };
  }

  function check(): void {
    const atRest = isAtRest();
    if (atRest && clock.monotonic() >= collectAtMs && (isFirst || youngBytes() > YOUNG_BYTES_MIN)) {
      isFirst = false;
      const costMs = costOf(collect);
      collectAtMs = clock.monotonic() + costMs / COLLECTIONS_SHARE_MAX;
      // The collection itself does not count as work of the node.
      samples = [];
    }
    samples = [...samples, sample()].slice(atRest ? -1 : -REST_MS / CHECK_MS);
    // Each check wakes an idle process.
    timer = clock.timer(atRest ? REST_MS : CHECK_MS, check);
  }

  function isAtRest(): boolean {
    const [first] = samples;
    if (first === undefined) return false;
    const now = sample();
    const ms = now.atMs - first.atMs;
    // A timer may fire a little early.
    return Math.round(ms) >= REST_MS && now.busyMs - first.busyMs < REST_SHARE * ms;
  }

  function costOf(work: () => void): number {
    const before = busyMs();
    work();
    return busyMs() - before;
  }
}

/** The engine exposes it only to a context made under the flag. */
function collector(): () => void {
  let collect: ((options: object) => void) | undefined;
  return () => {
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as (options: object) => void;
      setFlagsFromString('--no-expose-gc');
    }
    // Only this kind of collection shrinks the young generation.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  };
}
