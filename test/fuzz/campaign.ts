/** Runs targets in threads, one after the other. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { INPUT_SIZE_MAX } from './fuzzer.ts';
import { TARGETS, type TargetName } from './targets.ts';
import type { Outcome, Work } from './worker.ts';

/** Longest input of the corpus, bytes. */
const KEPT_SIZE_MAX = 1024;
/** In MiB: many times what a parser of some kilobytes may hold. */
const HEAP_MAX = 256;

export interface Campaign {
  readonly runs: number;
  readonly seconds: number;
  readonly seed: number;
  /** An input that takes longer hangs. */
  readonly hangMs: number;
}

export interface Findings {
  readonly target: TargetName;
  readonly runs: number;
  readonly blocks: number;
  readonly found: readonly Uint8Array[];
  readonly failure: { readonly why: string; readonly input: Uint8Array } | undefined;
}

/** Seeds, and what earlier runs have kept. */
export function corpusOf(name: TargetName): Uint8Array[] {
  return [
    ...TARGETS[name].seeds(),
    ...keptLines(name).map((line) => Uint8Array.from(Buffer.from(line, 'base64'))),
  ];
}

/** An input per line, in Base64. */
function keptLines(name: TargetName): string[] {
  const file = corpusFile(name);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

function corpusFile(name: TargetName): string {
  return join(import.meta.dirname, 'corpus', `${name}.txt`);
}

/** Long inputs reach what short ones do as well. */
export function extendCorpus(name: TargetName, found: readonly Uint8Array[]): void {
  const news = found
    .filter(({ length }) => length <= KEPT_SIZE_MAX)
    .map((input) => Buffer.from(input).toString('base64'));
  const lines = [...new Set([...keptLines(name), ...news])].sort(
    (a, b) => a.length - b.length || (a < b ? -1 : 1),
  );
  mkdirSync(join(import.meta.dirname, 'corpus'), { recursive: true });
  writeFileSync(corpusFile(name), lines.map((line) => `${line}\n`).join(''));
}

/** @returns the file, named after its content */
export function keepInput(folder: string, input: Uint8Array): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, createHash('sha256').update(input).digest('hex').slice(0, 16));
  writeFileSync(file, input);
  return file;
}

export async function fuzzTarget(
  target: TargetName,
  { runs, seconds, seed, hangMs }: Campaign,
  script = new URL('worker.ts', import.meta.url),
): Promise<Findings> {
  const shared = {
    numbers: new Int32Array(new SharedArrayBuffer(8)),
    input: new Uint8Array(new SharedArrayBuffer(INPUT_SIZE_MAX)),
  };
  const work: Work = {
    target,
    corpus: corpusOf(target).filter(({ length }) => length <= INPUT_SIZE_MAX),
    seed,
    runs,
    seconds,
    shared,
  };
  const worker = new Worker(script, {
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX },
  });
  const turn = () => Atomics.load(shared.numbers, 0);
  const running = () => Uint8Array.from(shared.input.subarray(0, Atomics.load(shared.numbers, 1)));
  let before = 0;
  const over = Promise.withResolvers<Outcome | { readonly kind: 'failed'; readonly why: string }>();
  const watch = setInterval(() => {
    const now = turn();
    if (now > 0 && now === before)
      over.resolve({ kind: 'failed', why: `no answer within ${hangMs / 1000} s` });
    before = now;
  }, hangMs);
  worker.once('message', over.resolve);
  worker.once('error', (error: NodeJS.ErrnoException) =>
    over.resolve({
      kind: 'failed',
      why: error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? `more than ${HEAP_MAX} MiB` : String(error.stack),
    }),
  );
  worker.once('exit', (code) => over.resolve({ kind: 'failed', why: `the thread ended with code ${code}` }));
  try {
    const outcome = await over.promise;
    if (outcome.kind === 'done') return { ...outcome, target, failure: undefined };
    const failure =
      outcome.kind === 'crash'
        ? { why: outcome.stack, input: outcome.input }
        : { why: outcome.why, input: running() };
    return { target, runs: turn(), blocks: 0, found: [], failure };
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}
