import { existsSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { HarnessError } from '../../base/errors.ts';
import { writeJson } from '../../base/json-file.ts';
import { typed } from '../../base/typed.ts';
import type { StepDisplay } from '../../report/console.ts';
import { partFolders, RECIPE_FILE, SCHEDULE_FILE } from '../../report/folder.ts';
import type { RunResult } from '../../report/result.ts';
import { loadCopy, loadScenario } from '../catalogue.ts';
import { type ParallelOptions, runInParallel } from '../parallel.ts';
import { type Recipe, readRecipe } from '../recipe.ts';
import type { PlannedScenario, RunOptions } from '../run-options.ts';
import { runScenarios } from '../runner.ts';
import { parseSchedule, readSchedule, type Schedule } from '../schedule/schedule.ts';
import { resolvedSource } from '../source/kept.ts';
import { expectOwnFile, keptFile } from './trust.ts';

const SCHEDULE_PARAMETER = 'schedule';
const INPUTS = 'inputs';

export interface Rerun {
  readonly folder: string;
  readonly recipe: Recipe;
  readonly report: string;
  readonly stateDir: string;
  readonly signal: AbortSignal;
  readonly display?: StepDisplay | undefined;
  readonly onScenario?: RunOptions['onScenario'] | undefined;
}

/**
 * @throws HarnessError `RUN_INVALID` for an unloadable scenario or a missing schedule; also that of a cluster that does not
 * start
 */
export async function rerun(again: Rerun): Promise<RunResult> {
  const { recipe, report, stateDir, signal, display, onScenario } = again;
  const { cluster, nodes, ownCounts, exactNodes, lanes, definition } = recipe;
  const planned: PlannedScenario[] = [];
  for (const row of recipe.scenarios) {
    expectOwnSchedule(row, again);
    planned.push(await plannedOf(row, again));
  }
  const options: ParallelOptions = {
    planned,
    seed: BigInt(recipe.seed),
    nodes,
    ownCounts,
    exactNodes,
    definition,
    source: 'recipe.json',
    stateDir,
    report,
    name: report.split(/[/\\]/).at(-1) ?? report,
    command: typed(`replay ${report}`),
    signal,
    onScenario,
  };
  if (lanes !== undefined) return runInParallel(options, lanes);
  return runScenarios({ ...options, attachTo: cluster, display });
}

/** @throws HarnessError `RUN_INVALID` when it cannot be loaded */
export async function plannedOf(
  row: Recipe['scenarios'][number],
  { folder, recipe, report }: Pick<Rerun, 'folder' | 'recipe' | 'report'>,
): Promise<PlannedScenario> {
  const { name, from, timeoutMs, parameters: given } = row;
  if (from === 'program') {
    throw new HarnessError('RUN_INVALID', `scenario ${name} was given by a program, which alone has it`, {
      hint: 'Run that program again; a load is repeated with the command in its report.',
    });
  }
  const kept = keptFile(folder, row);
  const loaded = kept === undefined ? await loadScenario(name) : await loadKept(kept);
  const scenario =
    timeoutMs === undefined || timeoutMs === loaded.timeoutMs ? loaded : { ...loaded, timeoutMs };
  const defaults = Object.entries(scenario.parameters).map(([key, spec]) => [key, spec.default] as const);
  const known = Object.entries(given).filter(([key]) => Object.hasOwn(scenario.parameters, key));
  const part = partOf(row, { folder, recipe });
  const schedule = takesSchedule(scenario) ? scheduleOf(part, recipe) : undefined;
  const input = join(report, INPUTS, relative(folder, part), SCHEDULE_FILE);
  if (schedule !== undefined) writeJson(input, schedule);
  const named = given[SCHEDULE_PARAMETER];
  if (schedule === undefined && takesSchedule(scenario) && typeof named === 'string' && named !== '')
    expectOwnFile(folder, recipe, named);
  const drawn = schedule === undefined ? [] : [[SCHEDULE_PARAMETER, input] as const];
  return {
    scenario,
    parameters: Object.fromEntries([...defaults, ...known, ...drawn]) as PlannedScenario['parameters'],
  };
}

/** A folder keeps the last schedule only. @throws HarnessError `RUN_INVALID` when it may be another scenario's */
export function expectOwnSchedule(
  row: Recipe['scenarios'][number],
  { folder, recipe }: Pick<Rerun, 'folder' | 'recipe'>,
): void {
  const hasOne = ({ parameters }: Recipe['scenarios'][number]) =>
    Object.hasOwn(parameters, SCHEDULE_PARAMETER);
  if (!hasOne(row) || recipe.schedule !== undefined) return;
  const part = partOf(row, { folder, recipe });
  const { scenarios } = part === folder ? recipe : readRecipe(part);
  const count = scenarios.filter(hasOne).length;
  if (count < 2 || scheduleOf(part, recipe) === undefined) return;
  throw new HarnessError(
    'RUN_INVALID',
    `${part}: ${count} scenarios had a schedule, and only the last one was kept`,
    { hint: 'Run them one at a time: each run then keeps its own.' },
  );
}

export function takesSchedule({ parameters }: PlannedScenario['scenario']): boolean {
  return Object.hasOwn(parameters, SCHEDULE_PARAMETER);
}

/** What was done in the run, whatever a later version would draw. @throws HarnessError `DEFINITION_INVALID` */
export function scheduleOf(folder: string, { schedule }: Pick<Recipe, 'schedule'>): Schedule | undefined {
  if (schedule !== undefined) return parseSchedule(schedule, join(folder, 'recipe.json'));
  const file = [join(folder, SCHEDULE_FILE), join(folder, INPUTS, SCHEDULE_FILE)].find((path) =>
    existsSync(path),
  );
  return file === undefined ? undefined : readSchedule(file);
}

/**
 * Of the part that ran a scenario, if clusters ran side by side, else the run's. Parts keep the order of equal rows.
 * @param row of the recipe itself: others may be alike
 */
function partOf(
  row: Recipe['scenarios'][number],
  { folder, recipe }: Pick<Rerun, 'folder' | 'recipe'>,
): string {
  const isAlike = (other: Recipe['scenarios'][number]) => isDeepStrictEqual(other, row);
  const before = recipe.scenarios.slice(0, recipe.scenarios.indexOf(row)).filter(isAlike).length;
  const parts = existsSync(folder) ? partFolders(folder).map((name) => join(folder, name)) : [];
  const ran = parts
    .filter((path) => existsSync(join(path, RECIPE_FILE)))
    .flatMap((path) =>
      readRecipe(path)
        .scenarios.filter(isAlike)
        .map(() => path),
    );
  return ran[before] ?? folder;
}

/** A loaded module stays in the cache, so each copy has a new file name. */
async function loadKept(path: string): Promise<PlannedScenario['scenario']> {
  const loadable = resolvedSource(path);
  try {
    return await loadCopy(loadable, path);
  } finally {
    if (loadable !== path) rmSync(loadable, { force: true });
  }
}
