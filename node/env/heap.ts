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
/** Between two looks: what was at work until now is trimmed no later than so much after `REST_MS`. */
const LOOK_MS = REST_MS / 2;
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
  let samples = [sample()];
  /** From when on the next collection may be made. */
  let collectAtMs = 0;
  let timer = clock.timer(LOOK_MS, look);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };

  function sample(): { readonly atMs: number; readonly processorMs: number } {
    return { atMs: clock.monotonic(), processorMs: processorMs() };
  }

  function look(): void {
    if (isAtRest() && clock.monotonic() >= collectAtMs && youngBytes() > YOUNG_BYTES_MIN) {
      const costMs = costOf(collect);
      collectAtMs = clock.monotonic() + costMs / COLLECTIONS_SHARE_MAX;
      // The collection itself is no work of the node.
      samples = [];
    }
    samples = [...samples, sample()].slice(-REST_MS / LOOK_MS);
    timer = clock.timer(LOOK_MS, look);
  }

  function isAtRest(): boolean {
    const [first] = samples;
    if (first === undefined) return false;
    const now = sample();
    const ms = now.atMs - first.atMs;
    return ms >= REST_MS && now.processorMs - first.processorMs < REST_SHARE * ms;
  }

  function costOf(work: () => void): number {
    const before = processorMs();
    work();
    return processorMs() - before;
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
