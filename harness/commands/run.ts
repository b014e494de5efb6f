/** `svcnet run SCENARIO…`: run scenarios on a fresh cluster or a running one, and report. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXIT, HarnessError, messageOf } from '../base/errors.ts';
import { plural, suggestion } from '../base/words.ts';
import { FLAVOUR_NAMES, type FlavourName } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { drawSeed } from '../plan/seed.ts';
import { renderRun, StepDisplay } from '../report/console.ts';
import type { PlannedScenario } from '../run/run-options.ts';
import { planScenarios, runScenarios } from '../run/runner.ts';
import { ParameterError, type Scenario } from '../run/scenario.ts';
import { answer, type CommandContext } from './context.ts';
import { type Nodes, type NodesFlags, nodesWith } from './nodes-flags.ts';

/** Scenarios that come with the package; a file's name is its scenario's. */
const FOLDER = resolve(import.meta.dirname, '../../scenarios');
const EXTENSION = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';

export interface RunFlags extends NodesFlags {
  readonly list?: boolean;
  /** Running cluster; absent: a fresh one. */
  readonly name?: string;
  readonly seed?: bigint;
  /** `key=value` texts. */
  readonly set: readonly string[];
  readonly report?: string;
}

/** @returns the exit code: success when everything passed or was skipped, else whether a condition was false or a scenario could not run */
export async function run(
  names: readonly string[],
  flags: RunFlags,
  context: CommandContext,
): Promise<number> {
  if (flags.list === true) {
    await list(context);
    return EXIT.success;
  }
  if (names.length === 0)
    throw new HarnessError('USAGE', `name at least one scenario (known: ${bundled().join(', ')})`);
  const scenarios = await Promise.all(names.map(load));
  const planned = plan(scenarios, flags.set);
  const nodes = freshNodes(scenarios, flags);
  const seed = flags.seed ?? drawSeed();
  const light = Math.max(...scenarios.map(({ cluster }) => cluster.light ?? 0));
  const title = names.map((name) => basename(name, EXTENSION)).join('-');
  const runName = `${new Date().toISOString().replaceAll(':', '-').slice(0, 19)}-${title}-${seed}`;
  const display = context.json ? undefined : new StepDisplay(context.style, context.out);
  if (!context.json)
    context.out(`\n  svcnet ${title}   ${whereText(nodes, light, flags)} · seed ${seed}\n\n`);
  const result = await runScenarios({
    planned,
    seed,
    stateDir: context.stateDir,
    report: resolve(flags.report ?? join(context.stateDir, 'runs', runName)),
    name: runName,
    command: repeatCommand(names, flags, seed),
    signal: context.signal,
    ...(flags.name === undefined ? {} : { attachTo: flags.name }),
    ...(flags.name === undefined ? { nodes } : {}),
    ...(display === undefined ? {} : { display }),
  });
  answer(context, result, renderRun(result, context.style).split('\n'));
  if (result.passed) return EXIT.success;
  return result.scenarios.some((scenario) => scenario.result === 'failed') ? EXIT.checkFailed : EXIT.usage;
}

/** A parameter that is not one is a mistake of usage. */
function plan(scenarios: readonly Scenario[], sets: readonly string[]): PlannedScenario[] {
  try {
    return planScenarios(scenarios, parameters(sets));
  } catch (error) {
    if (error instanceof ParameterError)
      throw new HarnessError('USAGE', `--set: ${error.message}`, { cause: error });
    throw error;
  }
}

/** What the flags say, else what the scenarios ask for; nodes of other flavours only when their program is known. */
function freshNodes(scenarios: readonly Scenario[], flags: RunFlags): Nodes {
  if (flags.name !== undefined && (flags.with.length > 0 || flags.beeBinary !== undefined)) {
    throw new HarnessError(
      'USAGE',
      `--with and --bee-binary are for a fresh cluster, ${flags.name} runs already`,
    );
  }
  const known = (flavour: FlavourName) => {
    const variable = FLAVOURS[flavour].binaryVariable;
    return variable === undefined || flags.beeBinary !== undefined || (process.env[variable] ?? '') !== '';
  };
  const asked = FLAVOUR_NAMES.map((flavour) => ({
    flavour,
    count: Math.max(...scenarios.map(({ cluster }) => cluster.with?.[flavour] ?? 0)),
  })).filter(({ flavour, count }) => count > 0 && known(flavour));
  const others = flags.with.length > 0 ? flags.with : asked;
  return nodesWith(
    { ...flags, with: others },
    undefined,
    Math.max(...scenarios.map(({ cluster }) => cluster.nodes)),
  );
}

function whereText(nodes: Nodes, light: number, flags: RunFlags): string {
  if (flags.name !== undefined) return `on cluster ${flags.name}`;
  const groups = typeof nodes === 'number' ? [{ count: nodes }] : nodes;
  const total = groups.reduce((sum, { count = 1 }) => sum + count, light);
  const others = groups
    .filter((group) => 'flavour' in group && group.flavour !== 'svc')
    .map((group) => `, ${group.count ?? 1} of them ${'flavour' in group ? group.flavour : 'svc'}`);
  const lights = light > 0 ? `, ${light} of them light` : '';
  return `${plural(total, 'node')}${others.join('')}${lights} · process driver`;
}

function repeatCommand(names: readonly string[], flags: RunFlags, seed: bigint): string {
  const parts = ['npm run svcnet --', 'run', ...names, '--seed', seed.toString()];
  if (flags.name !== undefined) parts.push('--name', flags.name);
  if (flags.nodes !== undefined) parts.push('--nodes', String(flags.nodes));
  for (const { flavour, count } of flags.with) parts.push('--with', `${flavour}=${count}`);
  if (flags.beeBinary !== undefined) parts.push('--bee-binary', flags.beeBinary);
  for (const set of flags.set) parts.push('--set', /\s/.test(set) ? `'${set}'` : set);
  return parts.join(' ');
}

function parameters(sets: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    sets.map((text) => {
      const equals = text.indexOf('=');
      if (equals < 1) throw new HarnessError('USAGE', `--set: got '${text}', expected name=value`);
      return [text.slice(0, equals), text.slice(equals + 1)] as const;
    }),
  );
}

/** @param name of a scenario of the package, or path of a file that exports one */
async function load(name: string): Promise<Scenario> {
  const isPath = /[/\\]|\.[jt]s$/.test(name);
  const path = isPath ? resolve(name) : join(FOLDER, `${name}${EXTENSION}`);
  if (!(isPath ? existsSync(path) : bundled().includes(name))) {
    const known = bundled();
    throw new HarnessError(
      'USAGE',
      `no scenario '${name}'${suggestion(name, known)} (known: ${known.join(', ')}, or a path)`,
    );
  }
  const module = await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new HarnessError('USAGE', `cannot load ${path}: ${messageOf(error)}`, { cause: error });
  });
  const scenario = (module as { default?: Scenario }).default;
  if (typeof scenario?.run !== 'function' || typeof scenario.name !== 'string') {
    throw new HarnessError(
      'USAGE',
      `${path} has no scenario as its default export; make it with defineScenario`,
    );
  }
  return scenario;
}

/** Files that export a scenario. */
function bundled(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(EXTENSION) && !file.endsWith('.d.ts'))
    .map((file) => basename(file, EXTENSION))
    .toSorted();
}

async function list(context: CommandContext): Promise<void> {
  const scenarios = await Promise.all(bundled().map(load));
  const document = scenarios.map(({ name, group, about, parameters: table, needs, cluster }) => ({
    name,
    group,
    about,
    parameters: Object.entries(table).map(([parameter, spec]) => ({ name: parameter, ...spec })),
    needs,
    cluster,
  }));
  const lines = scenarios.flatMap(({ name, group, about, parameters: table }) => [
    `  ${name}  (${group})`,
    `    ${about}`,
    ...Object.entries(table).map(
      ([parameter, { help, default: fallback }]) =>
        `    --set ${parameter}=…  ${help} (default ${shown(fallback)})`,
    ),
    '',
  ]);
  answer(context, document, ['', ...lines]);
}

function shown(value: unknown): string {
  return value === '' ? 'none' : String(value);
}
