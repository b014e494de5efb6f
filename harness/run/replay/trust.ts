import { lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { expectInside, identityOf, strayPath } from '../../base/own-folder.ts';
import { expectTrusted, programsIn, uploadedPath, uploadsIn } from '../../cluster/plan/trust.ts';
import { bundledScenarios } from '../catalogue.ts';
import type { Recipe } from '../recipe.ts';

/**
 * Kept code and programs run, and files are uploaded, only if the run was made here, or with --trust.
 * @throws HarnessError `NOT_TRUSTED`
 */
export function expectTrustedRun({
  folder,
  recipe,
  trust,
}: {
  readonly folder: string;
  readonly recipe: Recipe;
  readonly trust: boolean | undefined;
}): void {
  if (wasMadeHere(folder, recipe)) return;
  const code = recipe.scenarios.flatMap(({ file }) =>
    file === undefined ? [] : [`the code in ${join(folder, file)}`],
  );
  const definition: Readonly<Record<string, unknown>> = recipe.definition;
  const programs = [...programsIn({ nodes: recipe.nodes }), ...programsIn(definition)];
  expectTrusted([...new Set([...code, ...programs])], {
    source: `${folder}, a run that was not made here,`,
    trust,
    uploads: uploadsIn(definition).flatMap((upload) => uploadedPath(upload) ?? []),
  });
}

function wasMadeHere(folder: string, { madeAs }: Recipe): boolean {
  return madeAs !== undefined && madeAs === identityOf(folder);
}

/** A run which was not made here names only schedules in its folder. @throws HarnessError `RUN_INVALID` */
export function expectOwnFile(folder: string, recipe: Recipe, path: string): void {
  if (wasMadeHere(folder, recipe)) return;
  const stray = strayPath(folder, resolve(path), 'file');
  if (stray === undefined) return;
  throw new HarnessError('RUN_INVALID', `${folder}, a run that was not made here: schedule: ${stray}`, {
    hint: 'Copy the file into the folder, and name the copy.',
  });
}

/**
 * In the package, or kept in the folder, wherever the run was made.
 * @returns path of the kept file; undefined: it is one of the package @throws HarnessError `RUN_INVALID`
 */
export function keptFile(folder: string, { name, file }: Recipe['scenarios'][number]): string | undefined {
  if (file === undefined) {
    if (bundledScenarios().includes(name)) return undefined;
    throw new HarnessError(
      'RUN_INVALID',
      `${folder}: the package has no scenario '${name}', and the run has kept none`,
    );
  }
  const path = join(folder, file);
  try {
    expectInside(folder, path);
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    throw new HarnessError('RUN_INVALID', error.message, { cause: error });
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) return path;
  throw new HarnessError('RUN_INVALID', `no file ${path}, which the recipe names`);
}
