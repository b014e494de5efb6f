import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, HarnessError, messageOf } from '../base/errors.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import { renderRepeated, renderRun } from '../report/console.ts';
import { inReport, REPEAT_FILE } from '../report/folder.ts';
import { type FailedStart, hasFailed, type RepeatedRun, type RunResult } from '../report/result.ts';
import { answer, type CommandContext } from './context.ts';

export interface Repetition {
  readonly seeds: readonly bigint[];
  /** For `repeat.json`. */
  readonly folder: string;
  readonly untilFailure: boolean;
  readonly once: (seed: bigint) => Promise<RunResult>;
}

/**
 * An unfinished run is a finding; the other seeds are still tried. An interrupted repetition is written and shown as far as
 * known.
 * @returns exit code @throws HarnessError `INTERRUPTED`, `CANNOT_WRITE`
 */
export async function runRepeated(
  { seeds, folder, untilFailure, once }: Repetition,
  context: CommandContext,
): Promise<number> {
  const runs: (RunResult | FailedStart)[] = [];
  forgetEarlier(folder);
  try {
    for (const seed of seeds) {
      const result = await runOrFailure(seed, once, context.signal);
      runs.push(result);
      if (!context.json)
        context.out('scenarios' in result ? renderRun(result, context.style) : `${result.error}\n`);
      if (untilFailure && !result.passed) break;
    }
  } catch (error) {
    if (runs.length > 0) {
      const repeated = keep(runs, folder);
      if (!context.json) context.out(renderRepeated(repeated, context.style));
    }
    throw error;
  }
  const repeated = keep(runs, folder);
  answer(context, repeated, renderRepeated(repeated, context.style).split('\n'));
  return repeated.passed ? EXIT.success : EXIT.checkFailed;
}

/** @throws an interruption's reason */
async function runOrFailure(
  seed: bigint,
  once: Repetition['once'],
  signal: AbortSignal,
): Promise<RunResult | FailedStart> {
  try {
    return await once(seed);
  } catch (error) {
    if (signal.aborted || (error instanceof HarnessError && error.code === 'INTERRUPTED')) throw error;
    return { seed: seedToJson(seed), passed: false, error: messageOf(error) };
  }
}

/** An earlier repetition's result must not be taken for this one's. */
function forgetEarlier(folder: string): void {
  inReport(folder, () => rmSync(join(folder, REPEAT_FILE), { force: true }));
}

/** @throws HarnessError `CANNOT_WRITE` */
function keep(runs: readonly (RunResult | FailedStart)[], folder: string): RepeatedRun {
  const failedSeeds = runs.filter(({ passed }) => !passed).map(({ seed }) => seed);
  const repeated = { passed: failedSeeds.length === 0, failedSeeds, failures: failuresIn(runs), runs };
  const text = `${JSON.stringify(repeated, undefined, 2)}\n`;
  inReport(folder, () => writeFileSync(join(folder, REPEAT_FILE), text));
  return repeated;
}

function failuresIn(runs: readonly (RunResult | FailedStart)[]): RepeatedRun['failures'] {
  const counts = new Map<string, number>();
  for (const run of runs) {
    const failed = ('scenarios' in run ? run.scenarios : []).filter(hasFailed);
    for (const name of new Set(failed.map((scenario) => scenario.name)))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a));
}
