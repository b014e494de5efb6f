/** What a run's folder may run: it may have been made elsewhere. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { expectInside, identityOf } from '../base/own-folder.ts';
import { expectTrusted, programsIn } from '../plan/trust.ts';
import { bundledScenarios } from '../run/catalogue.ts';
import type { Recipe } from '../run/recipe.ts';

/**
 * Code that is kept in a folder, and programs that its recipe names, run when the run was made here, or with --trust.
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
  if (recipe.madeAs !== undefined && recipe.madeAs === identityOf(folder)) return;
  const code = recipe.scenarios.flatMap(({ file }) =>
    file === undefined ? [] : [`the code in ${join(folder, file)}`],
  );
  const definition: Readonly<Record<string, unknown>> = recipe.definition;
  const programs = [...programsIn(recipe.nodes), ...programsIn(definition['nodes'])];
  expectTrusted([...new Set([...code, ...programs])], {
    source: `${folder}, a run that was not made here,`,
    trust,
  });
}

/**
 * Where a row's scenario is, whoever made the run: in the package, or kept in the folder.
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
