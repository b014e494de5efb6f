/**
 * Releases an idle process's memory. V8 lets the young generation grow and collects only at requests, so an idle node would
 * keep it for ever: 48 MiB not backed by files after a start, 34 MiB after a release.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../formats/clock.ts';

/** The first nodes of a large cluster would slow down the others' start. */
const FIRST_MS = 30_000;
/** Idle time before a full collection, which takes a tenth of a second. */
const REST_MS = 5000;
const CHECK_MS = REST_MS / 2;
/**
 * Of the time: a node without traffic is busy for three thousandths, fifty in a process for half of this. A smaller share
 * would keep 20 MiB more for about 5 % less processor time per chunk.
 */
const REST_SHARE = 0.1;
/** Part of the time: large heaps on slow processors are collected seldom. */
const COLLECTIONS_SHARE_MAX = 0.01;
/** A smaller one is not worth a collection, which leaves one megabyte. */
const YOUNG_BYTES_MIN = 4 * 1024 * 1024;
/**
 * Percent of live data: by default the old generation more than doubles and holds on to chunk buffers. While streaming 48
 * MiB in and out: 65 MiB less for the uploader, 35 MiB for the reader, at equal processor time.
 */
const OLD_GROWTH_PERCENT = 60;

export interface HeapDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /**
   * How long there was something to do. Not processor time: twenty nodes on two cores get a tenth of one each, however busy.
   */
  readonly busyMs: () => number;
  readonly youngBytes: () => number;
  readonly collect: () => void;
  /** Makes V8 collect the old generation after less growth. */
  readonly boundGrowth: () => void;
}

export function heapLimit(): number {
  return getHeapStatistics().heap_size_limit;
}

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
 * Bounds the heap's growth and releases memory when idle, until disposed. Not by a command line flag: with it V8 rejects the
 * runtime's precompiled code, at 27 ms of processor time per start.
 */
export function keepHeapSmall({ clock, busyMs, youngBytes, collect, boundGrowth }: HeapDeps): Disposable {
  let samples = [sample()];
  /** Left by the start, old by then. */
  let isFirst = true;
  /** Monotonic. */
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
      // The collection is no work of the node.
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
    // Timers may fire slightly early.
    return Math.round(ms) >= REST_MS && now.busyMs - first.busyMs < REST_SHARE * ms;
  }

  function costOf(work: () => void): number {
    const before = busyMs();
    work();
    return busyMs() - before;
  }
}

/** Exposed only to a context created while the flag is set. */
function collector(): () => void {
  let collect: ((options: object) => void) | undefined;
  return () => {
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as (options: object) => void;
      setFlagsFromString('--no-expose-gc');
    }
    // Only this shrinks the young generation.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  };
}
