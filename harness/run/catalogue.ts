import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { HarnessError } from '../base/errors.ts';
import { mistakeLines } from '../base/foreign-text.ts';
import { suggestion } from '../base/format.ts';
import { explain } from '../cluster/plan/definition.ts';
import { list, oneOf, text, whole } from '../cluster/plan/fields.ts';
import { FLAVOUR_NAMES, NODE_MODES } from '../flavours/flavour.ts';
import { CREDITS } from '../flavours/profiles.ts';
import { CAPABILITIES } from '../places/driver.ts';
import { PARAMETER_KINDS, type Scenario } from './scenario.ts';
import { loadSource } from './source/load.ts';

const FOLDER = resolve(import.meta.dirname, '../../scenarios');
const EXTENSION = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';

const origins = new WeakMap<Scenario, string>();

const GROUPS = [
  'functional',
  'economics',
  'load',
  'durability',
  'chaos',
] as const satisfies readonly Scenario['group'][];
const LIST_MAX = 1000;
const words = list(text('a word'), 'a list of words', LIST_MAX).optional();
const onlyTrue = z.literal(true, { error: 'true, or nothing' }).optional();
const nodes = whole(1, 1000);
const called = (expected: string) =>
  z.custom((value) => typeof value === 'function', { error: expected }).optional();
const depending = called('a function of the parameters');
const whether = called('a function of the parameters, such as () => true');
const keys = { error: 'keys and values' };
type Shape<Declared> = Readonly<Record<keyof Declared, z.ZodType>>;

/** Groups and options of nodes are checked with the cluster's definition. */
const declaration = z.strictObject(
  {
    name: text('text'),
    group: oneOf(GROUPS),
    tags: words,
    about: text('a sentence'),
    parameters: z.record(
      z.string(),
      z.looseObject({ kind: oneOf(PARAMETER_KINDS) }, { error: 'what parameter() returns' }),
      keys,
    ),
    needs: z.strictObject(
      {
        nodes,
        flavours: list(oneOf(FLAVOUR_NAMES), 'a list of flavours', LIST_MAX).optional(),
        modes: list(oneOf(NODE_MODES), 'a list of modes', LIST_MAX).optional(),
        capabilities: list(oneOf(CAPABILITIES), 'a list of capabilities', LIST_MAX).optional(),
        control: onlyTrue,
        started: onlyTrue,
        reachable: onlyTrue,
      } satisfies Shape<Scenario['needs']>,
      keys,
    ),
    cluster: z.strictObject(
      {
        nodes,
        with: z
          .partialRecord(oneOf(FLAVOUR_NAMES), nodes, { error: 'flavours and how many nodes' })
          .optional(),
        light: whole(0, 1000).optional(),
        groups: depending,
        neighbourhoods: words,
        credit: oneOf(CREDITS).optional(),
        creditFor: depending,
        options: z.looseObject({}, { error: 'options and their values' }).optional(),
        linkFaults: whether,
        machineFaults: whether,
        tap: whether,
        optionsFor: depending,
      } satisfies Shape<Scenario['cluster']>,
      keys,
    ),
    timeoutMs: z.number({ error: 'milliseconds' }).positive({ error: 'milliseconds, more than 0' }),
    alone: onlyTrue,
    run: z.unknown(),
  } satisfies Shape<Scenario>,
  keys,
);

function knownAt([key]: readonly PropertyKey[]): string[] {
  const { shape } = declaration;
  return Object.keys(key === 'needs' || key === 'cluster' ? shape[key].shape : shape);
}

export function originOf(scenario: Scenario): string | undefined {
  return origins.get(scenario);
}

/**
 * @param name of a built-in scenario, or path of a file that exports one
 * @throws HarnessError `USAGE`; `DEFINITION_INVALID` with what is wrong in its declaration, a line each
 */
export function loadScenario(name: string): Promise<Scenario> {
  return loadAs(name, undefined);
}

/** Loads a copy; its scenario counts as the original file's. @throws HarnessError as `loadScenario` */
export function loadCopy(path: string, original: string): Promise<Scenario> {
  return loadAs(path, original);
}

async function loadAs(name: string, original: string | undefined): Promise<Scenario> {
  const isPath = /[/\\]|\.\w+$/.test(name);
  const path = isPath ? resolve(name) : join(FOLDER, `${name}${EXTENSION}`);
  if (!(isPath ? existsSync(path) : bundledScenarios().includes(name))) {
    if (isPath) throw new HarnessError('USAGE', `no file '${name}', expected the path of a scenario`);
    const known = bundledScenarios();
    throw new HarnessError(
      'USAGE',
      `no scenario '${name}'${suggestion(name, known)} (known: ${known.join(', ')}, or a path)`,
    );
  }
  const shown = original ?? path;
  const scenario = (await (isPath ? loadSource(path, shown) : loadBuilt(path))) as Scenario | undefined;
  if (typeof scenario?.run !== 'function' || typeof scenario.name !== 'string') {
    throw new HarnessError(
      'USAGE',
      `${shown} has no scenario as its default export; make it with defineScenario`,
    );
  }
  if (dirname(path) === FOLDER) return scenario;
  const checked = declaration.safeParse(scenario);
  if (!checked.success) {
    const { issues } = checked.error;
    const mistakes = issues.flatMap((issue) => explain(issue, scenario, knownAt));
    const isOfCluster = issues.some(
      ({ code, path: [key] }) => code === 'unrecognized_keys' && key === 'cluster',
    );
    throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, shown), {
      hint: isOfCluster ? CLUSTER_HINT : undefined,
    });
  }
  origins.set(scenario, shown);
  return scenario;
}

const CLUSTER_HINT =
  "A scenario's cluster has what the scenario cannot do without. Everything else of a cluster goes into a cluster file: svcnet run SCENARIO --file FILE";

async function loadBuilt(path: string): Promise<unknown> {
  return ((await import(pathToFileURL(path).href)) as { default: unknown }).default;
}

export function findsPackage(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', 'svcnet'))) return true;
  const manifest = join(folder, 'package.json');
  if (existsSync(manifest) && /"name":\s*"svcnet"/.test(readFileSync(manifest, 'utf8'))) return true;
  const above = dirname(folder);
  return above !== folder && findsPackage(above);
}

export function bundledScenarios(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(EXTENSION) && !file.endsWith('.d.ts'))
    .map((file) => basename(file, EXTENSION))
    .toSorted();
}

export function scenarioTitle(name: string): string {
  return basename(name, EXTENSION);
}
