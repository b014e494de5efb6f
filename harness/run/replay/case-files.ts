import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeJson } from '../../base/json-file.ts';
import { makeFolder } from '../../base/own-folder.ts';
import { RECIPE_FILE, SCHEDULE_FILE } from '../../report/folder.ts';
import { keepRecipe } from '../recipe.ts';
import type { Case } from './case.ts';
import type { Subject } from './subject.ts';

export function layCase({ recipe, schedule }: Case, from: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  makeFolder(folder);
  const inputs = join(from, 'inputs');
  if (existsSync(inputs)) cpSync(inputs, join(folder, 'inputs'), { recursive: true });
  keepRecipe(recipe, join(folder, RECIPE_FILE));
  if (schedule !== undefined) writeJson(join(folder, SCHEDULE_FILE), schedule);
}

/** @returns path of the scenario file: all of the smallest run in one document */
export function writeCase(
  { recipe, schedule }: Case,
  { folder, scenario }: Pick<Subject, 'folder' | 'scenario'>,
  out: string,
): string {
  const inputs = join(folder, 'inputs');
  if (recipe.scenarios.some(({ from }) => from === 'file') && existsSync(inputs)) {
    cpSync(inputs, join(out, 'inputs'), { recursive: true });
  } else {
    rmSync(join(out, 'inputs'), { recursive: true, force: true });
  }
  const path = join(out, `${scenario.name}.json`);
  keepRecipe(schedule === undefined ? recipe : { ...recipe, schedule }, path);
  return path;
}
