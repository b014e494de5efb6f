import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { REPORT_FILE } from '../folder.ts';
import { findRun, foldersIn, readRun } from '../read-run.ts';
import { type RunResult, type ScenarioResult, titlesOf } from '../result.ts';

export interface Side {
  /** As given. */
  readonly name: string;
  readonly runs: readonly RunResult[];
}

/**
 * @param given folders, or names of runs in the state directory; of a run or of its repeats
 * @throws HarnessError `RUN_NOT_FOUND`, `RUN_INVALID`, `RUNS_DIFFER`
 */
export function readSides(given: readonly string[], stateDir: string): Side[] {
  return given.map((name) => readSide(name, findRun(name, stateDir)));
}

export function readSide(name: string, folder: string): Side {
  const folders = existsSync(join(folder, REPORT_FILE)) ? [folder] : repeatsIn(folder);
  if (folders.length === 0) {
    throw new HarnessError('RUN_NOT_FOUND', `${folder}: no run is in it, expected ${REPORT_FILE}`, {
      hint: `A run's folder has ${REPORT_FILE}; a folder of repeats has such folders in it.`,
    });
  }
  const runs = folders.map(readRun).toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
  const [first, ...others] = runs as [RunResult, ...RunResult[]];
  for (const other of others) {
    const [difference] = workDifferences(first, other);
    if (difference !== undefined) {
      throw new HarnessError('RUNS_DIFFER', `${folder}: not repeats of one run: ${difference.text}`, {
        hint: 'Repeats have the same scenarios and parameters; compare others as sides of their own.',
      });
    }
  }
  return { name, runs };
}

function repeatsIn(folder: string): string[] {
  return foldersIn(folder)
    .map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, REPORT_FILE)));
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : (JSON.stringify(value)?.slice(0, 40) ?? 'none');
}

export interface Difference {
  readonly what: string;
  readonly text: string;
}

export function commonScenarios(base: Side, other: Side): string[] {
  const names = ({ runs }: Side) => titlesOf((runs[0] as RunResult).scenarios);
  const common = names(base).filter((name) => names(other).includes(name));
  if (common.length > 0) return common;
  throw new HarnessError(
    'RUNS_DIFFER',
    `nothing to compare: ${base.name} ran ${names(base).join(', ')}, ${other.name} ran ${names(other).join(', ')}`,
    { hint: 'Compare runs of the same scenario.' },
  );
}

/** Apart from figures. */
export function differencesOf(base: Side, other: Side): Difference[] {
  const [a, b] = [base.runs[0] as RunResult, other.runs[0] as RunResult];
  const machine = (['cpu', 'cores', 'memory', 'platform', 'node'] as const).flatMap((key) =>
    differenceOf(`machine: ${key}`, a.environment[key], b.environment[key]),
  );
  return [...workDifferences(a, b), ...differenceOf('driver', a.driver, b.driver), ...machine];
}

function workDifferences(a: RunResult, b: RunResult): Difference[] {
  const [titles, others] = [titlesOf(a.scenarios), titlesOf(b.scenarios)];
  return [
    ...differenceOf('scenarios', titles.join(', '), others.join(', ')),
    ...a.scenarios.flatMap((one, i) => {
      const title = titles[i] ?? one.name;
      const other = b.scenarios[others.indexOf(title)];
      return other === undefined ? [] : scenarioDifferences(title, one, other);
    }),
  ];
}

function scenarioDifferences(title: string, a: ScenarioResult, b: ScenarioResult): Difference[] {
  const keys = new Set([...Object.keys(a.parameters), ...Object.keys(b.parameters)]);
  return Array.from(keys, (key) =>
    differenceOf(`${title}: ${key}`, a.parameters[key], b.parameters[key]),
  ).flat();
}

function differenceOf(what: string, a: unknown, b: unknown): Difference[] {
  if (JSON.stringify(a) === JSON.stringify(b)) return [];
  return [{ what, text: `${what} is ${shown(a)} and ${shown(b)}` }];
}
