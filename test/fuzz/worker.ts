/** A thread bounds the target's memory, and can be ended when it hangs. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Target } from './fuzzer.ts';
import { instrumentImports } from './instrument.ts';

export interface Work {
  readonly target: string;
  readonly corpus: readonly Uint8Array[];
  readonly seed: number;
  readonly runs: number;
  /** Longest time, once everything is loaded. */
  readonly seconds: number;
  readonly shared: Shared;
}

/** Written before every input: one that never ends, or takes all memory, is known then. */
export interface Shared {
  /** Which input is running, from 1, 0 before the first; then its size. */
  readonly numbers: Int32Array;
  readonly input: Uint8Array;
}

export type Outcome =
  | {
      readonly kind: 'done';
      readonly runs: number;
      readonly blocks: number;
      readonly found: readonly Uint8Array[];
    }
  | { readonly kind: 'crash'; readonly input: Uint8Array; readonly stack: string };

/** How often the clock is asked. */
const RUNS_PER_LOOK = 64;

const { target: name, corpus, seed, runs: most, seconds, shared } = workerData as Work;
// Before the parsers are loaded; the fuzzer imports none of them.
const coverage = instrumentImports();
const [{ TARGETS }, { fuzz, CrashError }] = await Promise.all([
  import('./targets.ts'),
  import('./fuzzer.ts'),
]);
const target = (TARGETS as unknown as Record<string, { readonly run: Target }>)[name];
if (target === undefined) throw new RangeError(`no target '${name}'`);
const untilMs = Date.now() + seconds * 1000;
try {
  const { runs, blocks, found } = await fuzz({
    target: target.run,
    corpus,
    coverage,
    random: randomOf(seed),
    goOn(input, count) {
      shared.input.set(input);
      Atomics.store(shared.numbers, 1, input.length);
      Atomics.store(shared.numbers, 0, count + 1);
      return count < most && (count % RUNS_PER_LOOK !== 0 || Date.now() < untilMs);
    },
  });
  say({ kind: 'done', runs, blocks, found });
} catch (error) {
  if (!(error instanceof CrashError)) throw error;
  const { stack } = error.cause instanceof Error ? error.cause : error;
  say({ kind: 'crash', input: error.input, stack: stack ?? error.message });
}

function say(outcome: Outcome): void {
  parentPort?.postMessage(outcome, []);
}

/** Mulberry32: a cipher would take longer than most parsers. */
function randomOf(start: number): { below(bound: number): number } {
  let state = start | 0;
  return {
    below(bound) {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
    },
  };
}
