/** The scenario of a run that failed, alone, on the cluster that it failed on. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { REPORT_FILE } from '../../report/folder.ts';
import { readRun } from '../../report/read-run.ts';
import { nodesWanted } from '../kinds.ts';
import { type Recipe, readRecipe } from '../recipe.ts';
import type { PlannedScenario } from '../run-options.ts';
import type { Scenario } from '../scenario.ts';
import { type Case, withOwnCount } from './case.ts';
import { expectOwnSchedule, plannedOf, scheduleOf, takesSchedule } from './rerun.ts';
import { signaturesOf } from './signature.ts';
import { expectTrustedRun } from './trust.ts';

export interface Subject {
  readonly folder: string;
  readonly failures: readonly string[];
  readonly scenario: Scenario;
  readonly given: Case;
}

/**
 * @param folder of a run
 * @param report folder for the inputs of its runs
 * @param options.trust also run code and programs of a run that was not made here
 * @throws HarnessError `RUN_NOT_FOUND`, `NOT_TRUSTED`, `RUN_INVALID` when it has no failure, or ran on a running cluster
 */
export async function subjectOf(
  folder: string,
  report: string,
  { trust }: { readonly trust?: boolean | undefined } = {},
): Promise<Subject> {
  const recipe = readRecipe(folder);
  expectTrustedRun({ folder, recipe, trust });
  const recorded = existsSync(join(folder, REPORT_FILE)) ? readRun(folder).scenarios : [];
  const index = recorded.findIndex((one) => signaturesOf({ scenarios: [one] }).length > 0);
  const failed = recorded[index];
  if (failed === undefined) {
    throw new HarnessError('RUN_INVALID', `${folder}: the run has no failure that could be kept`, {
      hint: 'Expected a run that has failed; svcnet replay says how often one does.',
    });
  }
  // Parallel clusters do not follow the recipe's order.
  if (failed.folder !== undefined) return subjectOf(join(folder, failed.folder), report, { trust });
  if (recipe.cluster !== undefined) {
    throw new HarnessError(
      'RUN_INVALID',
      `${folder}: the run was made on cluster ${recipe.cluster}, which cannot be made smaller`,
    );
  }
  const row = recipe.scenarios[index];
  if (row === undefined) throw new HarnessError('RUN_INVALID', `${folder}: the run has no scenario`);
  const again = { folder, recipe, report };
  expectOwnSchedule(row, again);
  const planned = await plannedOf(row, again);
  const { scenario } = planned;
  const others: PlannedScenario[] = [];
  for (const other of recipe.scenarios)
    if (other !== row && other.from !== 'program') others.push(await plannedOf(other, again));
  const alone: Recipe = { ...recipe, scenarios: [row] };
  return {
    folder,
    failures: signaturesOf({ scenarios: [failed] }),
    scenario,
    given: {
      recipe: withOwnCount(alone, nodesWanted(planned, [planned, ...others])),
      schedule: takesSchedule(scenario) ? scheduleOf(folder, recipe) : undefined,
    },
  };
}
