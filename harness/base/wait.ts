/** Polls with growing pauses and a deadline, whose error names what was missing. The testbed has no fixed sleep. */
import type { Clock } from '../../formats/clock.ts';
import { atMost } from '../../node/env/turns/at-most.ts';
import { expectTimeout } from './arguments.ts';
import { HarnessError, interrupted, messageOf } from './errors.ts';
import { formatMs } from './format.ts';

/** A wait ends soon after its condition; a loopback request costs about a millisecond. */
const FIRST_PAUSE_MS = 10;
/** Fifty waiting nodes do not load two cores. */
const LONGEST_PAUSE_MS = 200;
const GROWTH = 1.3;

/** Checks the awaited condition. */
export type Probe<T> = (signal: AbortSignal) => Promise<ProbeResult<T>>;
/** What is missing names node, peer or batch. */
export type ProbeResult<T> = { readonly done: T } | { readonly missing: string };

/** How long to wait. */
export interface WaitOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** For expensive probes. Default: 200 ms. */
  readonly longestPauseMs?: number;
}

/**
 * @param what completes "… within 20 s", such as `the nodes are not meshed`
 * @throws HarnessError `WAIT_TIMEOUT` with what was missing last, `INTERRUPTED`; the probe's errors
 */
export async function until<T>(what: string, probe: Probe<T>, options: WaitOptions): Promise<T> {
  expectTimeout('timeoutMs', options.timeoutMs);
  const { clock } = options;
  const startedAt = clock.monotonic();
  using deadline = clock.deadline(options.timeoutMs, options.signal);
  const { signal } = deadline;
  let missing: string | undefined;
  const longestPauseMs = options.longestPauseMs ?? LONGEST_PAUSE_MS;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    try {
      signal.throwIfAborted();
      const seen = await probe(signal);
      if ('done' in seen) return seen.done;
      // A probe cut by the deadline says less than the one before.
      if (missing === undefined || !signal.aborted) missing = seen.missing;
      await clock.sleep(pauseMs, signal);
    } catch (error) {
      if (options.signal?.aborted === true) throw interrupted(options.signal);
      if (!signal.aborted) throw error;
      const waited = formatMs(clock.monotonic() - startedAt);
      const seen = missing ?? 'nothing was seen yet';
      throw new HarnessError('WAIT_TIMEOUT', `${what} within ${waited}: ${seen}`, { cause: error });
    }
    pauseMs = Math.min(pauseMs * GROWTH, longestPauseMs);
  }
}

/** Ends early when the signal aborts, which a caller checks. */
export async function pause(clock: Pick<Clock, 'sleep'>, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/**
 * Work may ignore the signal: once it aborts, nothing waits for the work.
 * @param why thrown then; default: the signal's reason
 */
export async function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  why = (aborted: AbortSignal) => aborted.reason as Error,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(why(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export async function orLate<T, L>(
  work: Promise<T>,
  { clock, ms, late }: { readonly clock: Pick<Clock, 'timer'>; readonly ms: number; readonly late: L },
): Promise<T | L> {
  const passed = Promise.withResolvers<L>();
  using _timer = clock.timer(Math.max(0, ms), () => passed.resolve(late));
  return await Promise.race([work, passed.promise]);
}

/** Repeats the work with this time between, until disposed. Keeps no process alive. */
export function every(clock: Pick<Clock, 'timer'>, ms: number, work: () => void): Disposable {
  const tick = () => {
    timer = clock.timer(ms, tick, true);
    work();
  };
  let timer = clock.timer(ms, tick, true);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** A failed request's message becomes what is missing. */
export async function orMissing<T>(
  prefix: string,
  probe: () => Promise<ProbeResult<T>>,
): Promise<ProbeResult<T>> {
  try {
    return await probe();
  } catch (error) {
    return { missing: `${prefix}: ${messageOf(error)}` };
  }
}

/**
 * At most `limit` at a time; none is started after a failure.
 * @returns results in the order of the tasks
 */
export async function allAtMost<T>(limit: number, works: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  await atMost(
    limit,
    works.map((work, index) => async () => {
      results[index] = await work();
    }),
  );
  return results;
}

/**
 * Rejects only when every task has ended: nothing runs when the caller tidies up.
 * @throws the first failure in order of tasks
 */
export async function awaitAll<T>(works: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(works);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
