/**
 * Releases memory that an idle process holds on to. V8 lets the young generation grow while a node starts or works,
 * and collects garbage only when memory is requested: a node with nothing to do would keep all of it for ever.
 * Measured: 48 MiB not backed by files after a start, 34 MiB after it was released.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../formats/clock.ts';

/**
 * Before the first collection: the first nodes of a large cluster have nothing to do while the others start, and
 * would slow them down.
 */
const FIRST_MS = 30_000;
/** How long a process must have been idle; a full collection takes a tenth of a second. */
const REST_MS = 5000;
/** Time between two checks while the process works; while it rests, `REST_MS`. */
const CHECK_MS = REST_MS / 2;
/**
 * Share of the time below which it counts as idle: a node without traffic is busy for three thousandths, a process
 * that holds fifty of them for half of this share. With a smaller share a node with a little traffic keeps its heap:
 * 20 MiB more, for about 5 % less processor time per chunk.
 */
const REST_SHARE = 0.1;
/** Share of the time that collections may take: a large heap on a slow processor is collected seldom. */
const COLLECTIONS_SHARE_MAX = 0.01;
/** A young generation up to this size is not worth a collection; afterwards it has one megabyte. */
const YOUNG_BYTES_MIN = 4 * 1024 * 1024;
/**
 * Growth of the old generation, in percent of live data, before V8 collects garbage in it: by default it more than
 * doubles, and holds on to chunk buffers all the time. Measured while streaming 48 MiB in and out: 65 MiB less for
 * the uploader, 35 MiB for the reader, at the same processor time per chunk pushed.
 */
const OLD_GROWTH_PERCENT = 60;

export interface HeapDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /**
   * How long this process has had something to do so far, milliseconds. Processor time would not do: twenty nodes
   * that share two cores get a tenth of one each, however much they have to do.
   */
  readonly busyMs: () => number;
  /** Size of the young generation, bytes. */
  readonly youngBytes: () => number;
  /** Collects all garbage and releases the memory. */
  readonly collect: () => void;
  /** Makes V8 collect garbage in the old generation after less growth. */
  readonly boundGrowth: () => void;
}

/** Bytes up to which the heap of this process grows, before the process ends. */
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
 * Keeps the heap of a running process small until disposed: bounds its growth from now on, and releases memory
 * whenever the process has become idle.
 * The bound comes a moment after the start, and not from the command line: with that flag V8 rejects all code
 * compiled without it, which is the runtime's own. Every process then compiled these modules again, at 27 ms of
 * processor time.
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
    // Rounded, because a timer may fire a fraction of a millisecond early.
    return Math.round(ms) >= REST_MS && now.busyMs - first.busyMs < REST_SHARE * ms;
  }

  function costOf(work: () => void): number {
    const before = busyMs();
    work();
    return busyMs() - before;
  }
}

/** The engine's own function, which it exposes only to a context created while the flag is set. */
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
