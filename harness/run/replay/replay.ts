import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { REPORT_FILE } from '../../report/folder.ts';
import { readRun } from '../../report/read-run.ts';
import type { RunResult } from '../../report/result.ts';
import { differences, readRecipe } from '../recipe.ts';
import { type Rerun, rerun } from './rerun.ts';
import { mostFrequent, signaturesOf } from './signature.ts';
import { expectTrustedRun } from './trust.ts';

/** `same`: failed as the run did. `otherwise`: failed in another way. `not-run`: could not be run. */
export type Ending = 'passed' | 'same' | 'otherwise' | 'not-run';

export const ENDING_TEXTS: Readonly<Record<Ending, string>> = {
  passed: 'passed',
  same: 'failed the same way',
  otherwise: 'failed differently',
  'not-run': 'could not be run',
};

export interface ReplayedRun {
  readonly ending: Ending;
  readonly report: string;
  readonly signatures: readonly string[];
  readonly error?: string;
}

export interface ReplayDocument {
  readonly folder: string;
  /**
   * That run's failure that came again most often, the first of equals; null: it passed or did not end, and any failure
   * counts.
   */
  readonly failure: string | null;
  readonly runs: readonly ReplayedRun[];
  readonly counts: Readonly<Record<Ending, number>>;
  readonly warnings: readonly string[];
}

export interface ReplayRequest extends Omit<Rerun, 'recipe' | 'report'> {
  readonly times: number;
  /** Also runs code and programs of a run that was not made here. */
  readonly trust?: boolean | undefined;
  readonly reports: string;
  readonly onRun?: (run: ReplayedRun, number: number) => void;
}

/** @throws HarnessError `RUN_NOT_FOUND`, `RUN_INVALID`, `NOT_TRUSTED`, `INTERRUPTED` */
export async function replay(request: ReplayRequest): Promise<ReplayDocument> {
  const { folder, times, reports, onRun, trust, ...rest } = request;
  const recipe = readRecipe(folder);
  expectTrustedRun({ folder, recipe, trust });
  const failures = failuresOf(folder);
  const warnings = await differences(recipe);
  const runs: ReplayedRun[] = [];
  for (let number = 1; number <= times; number++) {
    const report = join(reports, String(number));
    const run = await tryOnce({ ...rest, folder, recipe, report }, failures);
    runs.push(run);
    onRun?.(run, number);
  }
  const failure = mostFrequent(
    failures,
    runs.map(({ signatures }) => signatures),
  );
  const count = (ending: Ending) => runs.filter((run) => run.ending === ending).length;
  return {
    folder,
    failure: failure ?? null,
    runs,
    counts: {
      same: count('same'),
      otherwise: count('otherwise'),
      passed: count('passed'),
      'not-run': count('not-run'),
    },
    warnings,
  };
}

/** None when the run passed, or has no report because it did not come to its end. */
function failuresOf(folder: string): readonly string[] {
  return existsSync(join(folder, REPORT_FILE)) ? signaturesOf(readRun(folder)) : [];
}

/** @param failures looked for; none: any @throws HarnessError `INTERRUPTED` */
export async function tryOnce(again: Rerun, failures: readonly string[]): Promise<ReplayedRun> {
  const { report } = again;
  try {
    const result = await rerun(again);
    const signatures = signaturesOf(result);
    if (signatures.length === 0) {
      const skipped = skippedOf(result, failures);
      if (skipped !== undefined) return { ending: 'not-run', report, signatures, error: skipped };
      return { ending: 'passed', report, signatures };
    }
    const same = failures.length === 0 || failures.some((failure) => signatures.includes(failure));
    return { ending: same ? 'same' : 'otherwise', report, signatures };
  } catch (error) {
    if (again.signal.aborted) throw again.signal.reason;
    if (!(error instanceof HarnessError)) throw error;
    return { ending: 'not-run', report, signatures: [], error: messageOf(error) };
  }
}

/** Why nothing was tested: the scenario that failed, or all of them, could not be run here. */
function skippedOf({ scenarios }: RunResult, failures: readonly string[]): string | undefined {
  const relevant = scenarios.filter(
    ({ name }) => failures.length === 0 || failures.some((failure) => failure.startsWith(`${name}: `)),
  );
  const [first] = relevant;
  if (first === undefined || relevant.some(({ result }) => result !== 'skipped')) return undefined;
  return `${first.name} was skipped: ${first.skipReason ?? 'no reason given'}`;
}

export function replayLines({ failure, runs, counts, warnings }: ReplayDocument): string[] {
  const { same, otherwise, passed, 'not-run': notRun } = counts;
  const others = [
    ...new Set(runs.filter(({ ending }) => ending === 'otherwise').map(({ signatures }) => signatures[0])),
  ];
  return [
    ...warnings.map((warning) => `  ! ${warning}`),
    failure === null ? '  the run had no failure: any counts' : `  the run failed with: ${failure}`,
    `  failed ${failure === null ? '' : 'the same way '}${same} of ${runs.length} times, passed ${passed}`,
    ...(otherwise === 0 ? [] : [`  failed differently ${plural(otherwise, 'time')}: ${others.join('; ')}`]),
    ...(notRun === 0
      ? []
      : [
          `  could not be run ${plural(notRun, 'time')}: ${runs.find(({ error }) => error !== undefined)?.error}`,
        ]),
    ...(same > 0 && same < runs.length
      ? ['  it depends on timing: how often it fails is the chance of one run, not a verdict']
      : []),
  ];
}
