/** `svcnet run --seeds --minimise`: the first failure of each kind, made as small as it can be. */
import { join } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import type { FailedSeed, SeedsRun, SmallestRun } from '../report/result.ts';
import { minimise, type Progress, progressText } from '../run/replay/minimise.ts';
import type { CommandContext } from './context.ts';
import { ATTEMPTS, BUDGET } from './options/replay.ts';

/**
 * @param trust also of a run whose scenarios are not from here
 * @returns one for each kind, in their order; fewer when it was interrupted
 */
export async function minimiseKinds(
  { failures, kinds }: Pick<SeedsRun, 'failures' | 'kinds'>,
  trust: boolean | undefined,
  context: CommandContext,
): Promise<readonly SmallestRun[]> {
  const smallest: SmallestRun[] = [];
  for (const [kind, [seed]] of Object.entries(kinds)) {
    const failed = failures.find((one) => one.seed === seed);
    if (failed === undefined || context.signal.aborted) continue;
    smallest.push({ kind, seed: failed.seed, ...(await smallestOf(failed, trust, context)) });
  }
  return smallest;
}

async function smallestOf(
  { report, seed }: FailedSeed,
  trust: boolean | undefined,
  { stateDir, signal, note }: CommandContext,
): Promise<Omit<SmallestRun, 'kind' | 'seed'>> {
  const onProgress = (progress: Progress) => note(`  seed ${seed}: ${progressText(progress)}\n`);
  const out = join(report, 'minimised');
  try {
    const { from, to, scenario } = await minimise({
      folder: report,
      out,
      trust,
      attempts: ATTEMPTS.default,
      budgetMs: BUDGET.defaultMs,
      stateDir,
      signal,
      onProgress,
    });
    return { from: { ...from }, to: { ...to }, scenario };
  } catch (error) {
    // A seed that hung or crashed leaves no run that could be repeated: that is said, and the other kinds are tried.
    if (!(error instanceof HarnessError)) throw error;
    return { error: error.message };
  }
}
