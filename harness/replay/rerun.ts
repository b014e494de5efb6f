/** Repeats a run from its recipe. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { writeJson } from '../base/json-file.ts';
import { typed } from '../base/typed.ts';
import type { StepDisplay } from '../report/console.ts';
import type { RunResult } from '../report/result.ts';
import { cameFrom, loadScenario } from '../run/catalogue.ts';
import type { Recipe } from '../run/recipe.ts';
import type { PlannedScenario } from '../run/run-options.ts';
import { runScenarios } from '../run/runner.ts';
import { resolvedSource } from '../run/source.ts';
import { parseSchedule, readSchedule, SCHEDULE_FILE, type Schedule } from '../schedule/schedule.ts';

/** Parameter of scenarios that take their schedule from a file: its path; empty when they should draw one. */
const SCHEDULE_PARAMETER = 'schedule';
/** In the folder of a run that was given one. */
const SCHEDULE_INPUT = join('inputs', SCHEDULE_FILE);

export interface Rerun {
  /** Where the files named by the recipe are: the folder of the run, or of its recipe. */
  readonly folder: string;
  readonly recipe: Recipe;
  /** Folder of the new report. */
  readonly report: string;
  readonly stateDir: string;
  readonly signal: AbortSignal;
  readonly display?: StepDisplay | undefined;
}

/**
 * @throws HarnessError `RUN_INVALID` when a scenario cannot be loaded; also that of a cluster that does not
 * start
 */
export async function rerun(again: Rerun): Promise<RunResult> {
  const { recipe, report, stateDir, signal, display } = again;
  const { cluster, nodes, ownCounts, exactNodes, definition } = recipe;
  const planned: PlannedScenario[] = [];
  for (const row of recipe.scenarios) planned.push(await plannedOf(row, again));
  return runScenarios({
    planned,
    ...(cluster === undefined ? {} : { attachTo: cluster }),
    seed: BigInt(recipe.seed),
    ...(nodes === undefined ? {} : { nodes }),
    ...(ownCounts === undefined ? {} : { ownCounts }),
    exactNodes,
    definition,
    source: 'recipe.json',
    stateDir,
    report,
    name: report.split(/[/\\]/).at(-1) ?? report,
    command: typed(`replay ${report}`),
    signal,
    ...(display === undefined ? {} : { display }),
  });
}

/**
 * A scenario of a recipe with its parameters, the schedule among them.
 * @throws HarnessError `RUN_INVALID` when it cannot be loaded
 */
export async function plannedOf(
  { name, from, file, timeoutMs, parameters: given }: Recipe['scenarios'][number],
  { folder, recipe, report }: Pick<Rerun, 'folder' | 'recipe' | 'report'>,
): Promise<PlannedScenario> {
  if (from === 'program') {
    throw new HarnessError('RUN_INVALID', `scenario ${name} was given by a program, which alone has it`, {
      hint: 'Run that program again; a load is repeated with the command in its report.',
    });
  }
  const loaded = file === undefined ? await loadScenario(name) : await loadKept(join(folder, file));
  const scenario =
    timeoutMs === undefined || timeoutMs === loaded.timeoutMs ? loaded : { ...loaded, timeoutMs };
  const defaults = Object.entries(scenario.parameters).map(([key, spec]) => [key, spec.default] as const);
  const known = Object.entries(given).filter(([key]) => Object.hasOwn(scenario.parameters, key));
  const schedule = takesSchedule(scenario) ? scheduleOf(folder, recipe) : undefined;
  if (schedule !== undefined) writeJson(join(report, SCHEDULE_INPUT), schedule);
  const drawn = schedule === undefined ? [] : [[SCHEDULE_PARAMETER, join(report, SCHEDULE_INPUT)] as const];
  return {
    scenario,
    parameters: Object.fromEntries([...defaults, ...known, ...drawn]) as PlannedScenario['parameters'],
  };
}

export function takesSchedule({ parameters }: PlannedScenario['scenario']): boolean {
  return Object.hasOwn(parameters, SCHEDULE_PARAMETER);
}

/**
 * What was done in the run, to be repeated as it was, whatever a later version would draw.
 * @throws HarnessError `DEFINITION_INVALID`
 */
export function scheduleOf(folder: string, { schedule }: Pick<Recipe, 'schedule'>): Schedule | undefined {
  if (schedule !== undefined) return parseSchedule(schedule, join(folder, 'recipe.json'));
  const file = [SCHEDULE_FILE, SCHEDULE_INPUT]
    .map((name) => join(folder, name))
    .find((path) => existsSync(path));
  return file === undefined ? undefined : readSchedule(file);
}

/** Loads a copy under a new file name each time: a loaded module stays in the cache. */
async function loadKept(path: string): Promise<PlannedScenario['scenario']> {
  if (!existsSync(path)) throw new HarnessError('RUN_INVALID', `no file ${path}, which the recipe names`);
  const loadable = resolvedSource(path);
  try {
    const scenario = await loadScenario(loadable);
    cameFrom(scenario, path);
    return scenario;
  } finally {
    if (loadable !== path) rmSync(loadable, { force: true });
  }
}
