/**
 * Memory that a process at rest holds on to. V8 lets the young generation grow while a node starts or works, and looks
 * for garbage only when memory is asked for: a node with nothing to do would keep all of it for ever. Measured: 48 MiB
 * not backed by files after a start, 34 MiB when it was given back.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/** How long a process must have been at rest; a full collection takes a tenth of a second of it. */
const REST_MS = 5000;
/** Share of a processor below which it is at rest: a node without traffic needs three hundredths. */
const REST_SHARE = 0.1;
/** Processor time that collections may take, as a share of the time: a large heap on a slow processor is seldom due. */
const COLLECTIONS_SHARE_MAX = 0.01;
/** A young generation that is no larger is not worth a collection; afterwards it has one megabyte. */
const YOUNG_BYTES_MIN = 4 * 1024 * 1024;

export interface HeapDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** Processor time of this process so far, milliseconds. */
  readonly processorMs: () => number;
  /** What the young generation takes, bytes. */
  readonly youngBytes: () => number;
  /** Collects all garbage and gives the memory back. */
  readonly collect: () => void;
}

/** The heap of this process. */
export function processHeap(): Omit<HeapDeps, 'clock'> {
  return {
    processorMs() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    youngBytes: () =>
      getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0,
    collect: collector(),
  };
}

/** Gives memory back whenever the process has come to rest, until it is disposed. */
export function trimAtRest({ clock, processorMs, youngBytes, collect }: HeapDeps): Disposable {
  let since = { atMs: clock.monotonic(), processorMs: processorMs() };
  let timer = clock.timer(REST_MS, look);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };

  function look(): void {
    const due = shareSince() < REST_SHARE && youngBytes() > YOUNG_BYTES_MIN;
    const costMs = due ? costOf(collect) : 0;
    // The collection itself is no work of the node.
    since = { atMs: clock.monotonic(), processorMs: processorMs() };
    timer = clock.timer(Math.max(REST_MS, costMs / COLLECTIONS_SHARE_MAX), look);
  }

  function costOf(work: () => void): number {
    const before = processorMs();
    work();
    return processorMs() - before;
  }

  function shareSince(): number {
    return (processorMs() - since.processorMs) / Math.max(1, clock.monotonic() - since.atMs);
  }
}

/** The engine's own function, which it shows only to a context that is made while it is asked to. */
function collector(): () => void {
  let collect: ((options: object) => void) | undefined;
  return () => {
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as (options: object) => void;
      setFlagsFromString('--no-expose-gc');
    }
    // Of the kinds of collection only this one makes the young generation small again.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  };
}
