/** The available scenarios: those of the package by name, others by the path of their file. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { HarnessError, messageOf } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import type { Scenario } from './scenario.ts';

/** Scenarios that come with the package; a file's name is its scenario's. */
const FOLDER = resolve(import.meta.dirname, '../../scenarios');
const EXTENSION = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';

/** Files of scenarios from outside the package. */
const origins = new WeakMap<Scenario, string>();

/** The file that a scenario came from; undefined: built in. */
export function originOf(scenario: Scenario): string | undefined {
  return origins.get(scenario);
}

/** A scenario loaded from a copy counts as that of the original file. */
export function cameFrom(scenario: Scenario, path: string): void {
  origins.set(scenario, path);
}

/** @param name of a built-in scenario, or path of a file that exports one */
export async function loadScenario(name: string): Promise<Scenario> {
  const isPath = /[/\\]|\.m?[jt]s$/.test(name);
  const path = isPath ? resolve(name) : join(FOLDER, `${name}${EXTENSION}`);
  if (!(isPath ? existsSync(path) : bundledScenarios().includes(name))) {
    if (isPath) throw new HarnessError('USAGE', `no file '${name}', expected the path of a scenario`);
    const known = bundledScenarios();
    throw new HarnessError(
      'USAGE',
      `no scenario '${name}'${suggestion(name, known)} (known: ${known.join(', ')}, or a path)`,
    );
  }
  const module = await import(pathToFileURL(path).href).catch((error: unknown) => {
    const hint = findsPackage(dirname(path)) ? {} : { hint: PACKAGE_HINT };
    throw new HarnessError('USAGE', `cannot load ${path}: ${messageOf(error)}`, { cause: error, ...hint });
  });
  const scenario = (module as { default?: Scenario }).default;
  if (typeof scenario?.run !== 'function' || typeof scenario.name !== 'string') {
    throw new HarnessError(
      'USAGE',
      `${path} has no scenario as its default export; make it with defineScenario`,
    );
  }
  if (dirname(path) !== FOLDER) origins.set(scenario, path);
  return scenario;
}

/** What makes the imports of a scenario's file work. */
export const PACKAGE_HINT =
  "A scenario imports 'svcnet/scenario' from a folder above its own, and an installation for all projects (npm install --global) is none: npm install --save-dev svcnet";

/** Whether a folder's files can import the package, installed above or this one. */
export function findsPackage(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', 'svcnet'))) return true;
  const manifest = join(folder, 'package.json');
  if (existsSync(manifest) && /"name":\s*"svcnet"/.test(readFileSync(manifest, 'utf8'))) return true;
  const above = dirname(folder);
  return above !== folder && findsPackage(above);
}

/** Names of the scenarios of the package. */
export function bundledScenarios(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(EXTENSION) && !file.endsWith('.d.ts'))
    .map((file) => basename(file, EXTENSION))
    .toSorted();
}

/** @param name as given @returns the name, or the file's */
export function scenarioTitle(name: string): string {
  return basename(name, EXTENSION);
}
