/**
 * Inputs grow from a corpus: each is a mutation of one before, and stays if it reaches a block that none has reached, or one
 * more often. All of it follows from the seed.
 */
import type { Coverage } from './instrument.ts';
import { mutated } from './mutate.ts';

/** Longest input, bytes: two chunks. */
export const INPUT_SIZE_MAX = 8_192;

export type Target = (input: Uint8Array) => unknown;

export interface Random {
  /** Whole, from 0 to below `bound`. */
  below(bound: number): number;
}

export interface FuzzOptions {
  readonly target: Target;
  /** At least one. */
  readonly corpus: readonly Uint8Array[];
  readonly coverage: Coverage;
  readonly random: Random;
  /** Asked before every input. False ends the run. */
  readonly goOn: (input: Uint8Array, runs: number) => boolean;
}

export interface Fuzzed {
  readonly runs: number;
  /** Blocks that were entered. */
  readonly blocks: number;
  /** Without those of the corpus. */
  readonly found: readonly Uint8Array[];
}

export class CrashError extends Error {
  readonly code = 'FUZZ_CRASH';
  readonly input: Uint8Array;

  constructor(input: Uint8Array, cause: unknown) {
    super(`an input of ${input.length} bytes: ${(cause as Error)?.message ?? String(cause)}`, { cause });
    this.name = 'CrashError';
    this.input = input;
  }
}

export async function fuzz({ target, corpus, coverage, random, goOn }: FuzzOptions): Promise<Fuzzed> {
  const reached = new Reached(coverage);
  const pool: Uint8Array[] = [];
  const found: Uint8Array[] = [];
  let runs = 0;
  const tryOut = async (input: Uint8Array) => {
    coverage.counters.fill(0, 0, coverage.size());
    await answered(target, input);
    runs++;
    return reached.isNew();
  };
  for (const input of corpus) {
    if (!goOn(input, runs)) return { runs, blocks: reached.blocks, found };
    await tryOut(input);
    pool.push(input);
  }
  for (;;) {
    const input = mutated(pool, random, INPUT_SIZE_MAX);
    if (!goOn(input, runs)) return { runs, blocks: reached.blocks, found };
    if (!(await tryOut(input))) continue;
    pool.push(input);
    found.push(input);
  }
}

export async function answered(target: Target, input: Uint8Array): Promise<void> {
  try {
    const result = target(input);
    if (result instanceof Promise) await result;
  } catch (error) {
    if (!isRefusal(error)) throw new CrashError(input, error);
  }
}

/** Codes of the project are in capitals; the runtime has none, or one that begins with ERR. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' && /^[A-Z_]+$/.test(code) && !code.startsWith('ERR_');
}

/** Per block, the classes of how often one input has entered it. */
class Reached {
  readonly #coverage: Coverage;
  readonly #classes: Uint8Array;
  blocks = 0;

  constructor(coverage: Coverage) {
    this.#coverage = coverage;
    this.#classes = new Uint8Array(coverage.counters.length);
  }

  isNew(): boolean {
    const { counters } = this.#coverage;
    const size = this.#coverage.size();
    let isNew = false;
    for (let block = 0; block < size; block++) {
      const count = counters[block] as number;
      if (count === 0) continue;
      const before = this.#classes[block] as number;
      const now = before | classOf(count);
      if (now === before) continue;
      if (before === 0) this.blocks++;
      this.#classes[block] = now;
      isNew = true;
    }
    return isNew;
  }
}

/** 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127, more: one bit each. */
function classOf(count: number): number {
  if (count < 4) return 1 << (count - 1);
  if (count < 8) return 8;
  if (count < 16) return 16;
  if (count < 32) return 32;
  return count < 128 ? 64 : 128;
}
