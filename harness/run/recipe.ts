/**
 * Enough to repeat a run elsewhere, with the files beside it. Written before anything starts, so that an interrupted run has
 * it too.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { VERSION } from '../../formats/version.ts';
import { HarnessError } from '../base/errors.ts';
import { mistakeLines } from '../base/foreign-text.ts';
import { readJson, writeJson } from '../base/json-file.ts';
import { sourceCommit } from '../base/machine/source-commit.ts';
import { identityOf, makeFolder } from '../base/own-folder.ts';
import type { GroupInput } from '../cluster/plan/definition-input.ts';
import { FLAVOUR_NAMES, type OwnFlavour } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { RECIPE_FILE } from '../report/folder.ts';
import { bundledScenarios, originOf } from './catalogue.ts';
import { driverNameOf } from './run-clusters.ts';
import type { FreshDefinition, NodesInput, PlannedScenario, RunOptions } from './run-options.ts';
import { keepSource } from './source/kept.ts';

const INPUTS = 'inputs';

/** Raised when the meaning of a field changes. */
const SCHEMA = 1;

const text = z.string().min(1);

const recipeSchema = z.strictObject({
  schema: z.literal(SCHEMA),
  seed: z.string().regex(/^\d+$/),
  scenarios: z
    .array(
      z.strictObject({
        name: text,
        /** `package`: built in. `file`: kept here. `program`: given by a program only. */
        from: z.enum(['package', 'file', 'program']),
        file: text.optional(),
        timeoutMs: z.int().min(1).optional(),
        parameters: z.record(z.string(), z.unknown()),
      }),
    )
    .min(1),
  /** A running cluster; absent: fresh ones. */
  cluster: text.optional(),
  driver: text,
  nodes: z.unknown().optional(),
  /** The scenarios decide how many of our own nodes there are, whatever `nodes` says. */
  ownCounts: z.boolean().optional(),
  exactNodes: z.boolean(),
  /** Clusters at once; absent: one after another. */
  lanes: z.int().min(1).optional(),
  definition: z.record(z.string(), z.unknown()),
  /** For scenarios that take a schedule; otherwise the folder's `schedule.json`, if any. */
  schedule: z.unknown().optional(),
  versions: z.strictObject({ svcnet: text, commit: text.optional(), node: text }),
  command: z.string(),
  /** `identityOf` its folder, where the run was made on this machine. */
  madeAs: text.optional(),
});

export type Recipe = Omit<z.infer<typeof recipeSchema>, 'nodes' | 'definition'> & {
  readonly nodes?: NodesInput | undefined;
  readonly definition: FreshDefinition;
};

/** @param lanes as in the recipe @throws HarnessError `CLUSTER_NOT_FOUND` */
export async function writeRecipe(options: RunOptions, lanes?: number): Promise<Recipe> {
  const { report, seed, planned, attachTo, nodes, definition = {}, command } = options;
  const { ownCounts, exactNodes = false } = options;
  const scenarios = await Promise.all(planned.map((one) => rowOf(one, join(report, INPUTS))));
  const recipe: Recipe = {
    schema: SCHEMA,
    seed: seed.toString(),
    scenarios,
    cluster: attachTo,
    driver: driverNameOf(options),
    nodes: nodes && withPrograms(nodes),
    ownCounts,
    exactNodes,
    lanes,
    definition,
    versions: await versions(),
    command,
  };
  keepRecipe(recipe, join(report, RECIPE_FILE));
  return recipe;
}

export function keepRecipe(recipe: Recipe & { readonly schedule?: unknown }, file: string): void {
  const folder = dirname(file);
  makeFolder(folder);
  writeJson(file, plain({ ...recipe, madeAs: identityOf(folder) }));
}

async function rowOf(
  { scenario, parameters }: PlannedScenario,
  inputs: string,
): Promise<Recipe['scenarios'][number]> {
  const { name, timeoutMs } = scenario;
  const row = { name, timeoutMs, parameters: { ...parameters } };
  const path = originOf(scenario);
  if (path !== undefined) return { ...row, from: 'file', file: await keepSource(path, inputs) };
  return { ...row, from: bundledScenarios().includes(name) ? 'package' : 'program' };
}

/** @param folder of a run @throws HarnessError `RUN_NOT_FOUND`, `RUN_INVALID` */
export function readRecipe(folder: string): Recipe {
  if (existsSync(join(folder, RECIPE_FILE))) return readRecipeFile(join(folder, RECIPE_FILE));
  throw new HarnessError('RUN_NOT_FOUND', `${folder}: no ${RECIPE_FILE}, expected the folder of a run`, {
    hint: 'It keeps what a run is asked for; earlier versions did not. Repeat the run with the command in its report.',
  });
}

/** @throws HarnessError `RUN_INVALID` */
export function readRecipeFile(file: string): Recipe {
  const document = readJson(file);
  if (document === undefined) {
    throw new HarnessError('RUN_NOT_FOUND', `no file '${file}'`);
  }
  const parsed = recipeSchema.safeParse(document);
  if (parsed.success) return parsed.data as Recipe;
  const mistakes = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new HarnessError('RUN_INVALID', mistakeLines(mistakes, file));
}

export async function differences({ versions: then }: Pick<Recipe, 'versions'>): Promise<string[]> {
  const now = await versions();
  return (['svcnet', 'commit', 'node'] as const).flatMap((what) =>
    then[what] === now[what]
      ? []
      : [`${what} was ${then[what] ?? 'not known'}, here it is ${now[what] ?? 'not known'}`],
  );
}

async function versions(): Promise<Recipe['versions']> {
  const commit = await sourceCommit();
  return { svcnet: VERSION, commit, node: process.version };
}

/** Names programs of other flavours from the environment in their groups: elsewhere it names others. */
function withPrograms(nodes: NodesInput): NodesInput {
  if (typeof nodes === 'number') return nodes;
  return nodes.map((group) => {
    const variable = FLAVOURS[flavourOf(group)].binaryVariable;
    const program = variable === undefined ? undefined : process.env[variable];
    const named = 'binary' in group || 'image' in group;
    return program === undefined || program === '' || named ? group : { ...group, binary: program };
  });
}

function flavourOf(group: GroupInput): OwnFlavour {
  const { flavour } = group as { flavour?: string };
  return FLAVOUR_NAMES.find((name) => name === flavour) ?? 'svc';
}

function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? item.toString() : item)),
  );
}
