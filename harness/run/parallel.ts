/**
 * Scenarios of a run in parts, each with its own cluster and folder, so that a part can be replayed by itself. Which
 * scenarios share a part does not depend on how many parts run at once.
 */
import { join } from 'node:path';
import { interrupted } from '../base/errors.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { typed } from '../base/typed.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import { createReport, partFolder, writeReport } from '../report/folder.ts';
import { costsOfParts } from '../report/measures.ts';
import { type RunResult, runPassed } from '../report/result.ts';
import { kindWanted } from './kinds.ts';
import { writeRecipe } from './recipe.ts';
import { checkNodeParameters, driverNameOf } from './run-clusters.ts';
import { askedOf, type PlannedScenario, type RunOptions } from './run-options.ts';
import { runScenarios } from './runner.ts';

/** More would make the longest part last as long as the run; fewer make more starts. */
const PART_MAX = 6;

export type ParallelOptions = Omit<RunOptions, 'attachTo' | 'keep' | 'metricsPort' | 'display'>;

/** Those that need the machine to themselves come last, each in a part of its own. */
export function partsOf(planned: readonly PlannedScenario[]): {
  readonly together: readonly (readonly PlannedScenario[])[];
  readonly alone: readonly (readonly PlannedScenario[])[];
} {
  const beside = planned.filter(({ scenario }) => scenario.alone !== true);
  const kinds = Map.groupBy(beside, ({ scenario, parameters }) => kindWanted(scenario, parameters));
  const together = [...kinds.values()].flatMap((sharing) => {
    const parts = Math.ceil(sharing.length / PART_MAX);
    const size = Math.ceil(sharing.length / parts);
    return Array.from({ length: parts }, (_, i) => sharing.slice(i * size, (i + 1) * size));
  });
  const alone = planned.filter(({ scenario }) => scenario.alone === true).map((one) => [one]);
  return { together, alone };
}

/**
 * @param lanes clusters at once
 * @throws HarnessError `USAGE` for a node that a part would not have, when no cluster can be started, or on Ctrl-C;
 * all clusters are stopped then
 */
export async function runInParallel(options: ParallelOptions, lanes: number): Promise<RunResult> {
  const { report, signal, clock = MACHINE_CLOCK } = options;
  const startedAt = new Date(clock.now());
  const startMs = clock.monotonic();
  const { together, alone } = partsOf(options.planned);
  const parts = [...together, ...alone];
  for (const planned of parts) checkNodeParameters({ ...options, planned });
  createReport(report, askedOf(options));
  await writeRecipe(options, lanes);
  const results: (RunResult | undefined)[] = parts.map(() => undefined);
  const failed = new AbortController();
  const runPart = async (index: number): Promise<void> => {
    const folder = partFolder(index);
    results[index] = await runScenarios({
      ...options,
      planned: parts[index] ?? [],
      report: join(report, folder),
      name: `${options.name}-${folder}`,
      command: typed(`replay ${join(report, folder)}`),
      signal: AbortSignal.any([signal, failed.signal]),
    });
  };
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < together.length && !failed.signal.aborted) await runPart(next++);
  };
  // A lane that fails stops the others; all stop their clusters before the error propagates.
  await Promise.all(
    Array.from({ length: Math.min(lanes, together.length) }, () =>
      lane().catch((error: unknown) => failed.abort(error)),
    ),
  );
  if (signal.aborted) throw interrupted(signal);
  if (failed.signal.aborted) throw failed.signal.reason;
  for (const index of alone.keys()) await runPart(together.length + index);
  const runs = results.filter((result) => result !== undefined);
  const run: RunResult = {
    run: options.name,
    seed: seedToJson(options.seed),
    driver: driverNameOf(options),
    passed: runPassed(runs.flatMap(({ scenarios }) => scenarios)),
    startedAt: startedAt.toISOString(),
    durationMs: clock.monotonic() - startMs,
    command: options.command,
    scenarios: results.flatMap((result, index) =>
      (result?.scenarios ?? []).map((scenario) => ({ ...scenario, folder: partFolder(index) })),
    ),
    events: results
      .flatMap((result, index) =>
        (result?.events ?? []).map((event) => ({ ...event, folder: partFolder(index) })),
      )
      .toSorted((a, b) => a.at - b.at),
    environment: runs[0]?.environment ?? {},
    report,
    costs: costsOfParts(runs),
    ...textsOf(results, 'problems'),
    ...textsOf(results, 'notes'),
  };
  const unwritten = await writeReport(run);
  return unwritten === undefined ? run : { ...run, problems: [...(run.problems ?? []), unwritten] };
}

function textsOf(
  results: readonly (RunResult | undefined)[],
  key: 'problems' | 'notes',
): Pick<RunResult, typeof key> {
  const texts = results.flatMap((result, index) =>
    (result?.[key] ?? []).map((text) => `${partFolder(index)}: ${text}`),
  );
  return texts.length === 0 ? {} : { [key]: texts };
}
