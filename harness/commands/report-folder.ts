import type { Dirent } from 'node:fs';
import { join, resolve } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { readJson } from '../base/json-file.ts';
import { entriesOf, statusOf } from '../base/own-folder.ts';
import { takeTurn } from '../cluster/state/turn.ts';
import {
  DIFFERENCES_FILE,
  inReport,
  RECIPE_FILE,
  REPEAT_FILE,
  REPORT_FILE,
  SEEDS_FILE,
} from '../report/folder.ts';

/** With svcnet's content, any of these makes a folder that of a run, or of several. */
const SIGNS: Readonly<Record<string, (document: Readonly<Record<string, unknown>>) => boolean>> = {
  [RECIPE_FILE]: ({ schema, scenarios, versions }) =>
    Number.isInteger(schema) && Array.isArray(scenarios) && typeof versions === 'object',
  [REPORT_FILE]: ({ schema, run, scenarios }) =>
    Number.isInteger(schema) && typeof run === 'string' && Array.isArray(scenarios),
  [REPEAT_FILE]: ({ failedSeeds, runs }) => Array.isArray(failedSeeds) && Array.isArray(runs),
  [SEEDS_FILE]: ({ passes, failures }) => Array.isArray(passes) && Array.isArray(failures),
  [DIFFERENCES_FILE]: ({ reference, compared }) => typeof reference === 'string' && Array.isArray(compared),
};
/** A repetition's runs are in its folder, a comparison's one level deeper. */
const LEVELS = 2;
/** Of writing runs; a killed process may have left some. */
const TURN = /^reporting-\d+\.json$/;

export interface ReportFolder extends Disposable {
  readonly folder: string;
}

/**
 * A folder for one run at a time; an earlier report in it is removed later.
 * @param fresh makes one if none is given
 * @returns keeps other runs away until disposed
 * @throws HarnessError `USAGE` when another run writes to it or it is no report's folder; `CANNOT_WRITE`
 */
export function reportFolder(given: string | undefined, fresh: () => string): ReportFolder {
  const folder = resolve(given ?? fresh());
  if (given !== undefined) expectReport(folder);
  const turn = inReport(folder, () => takeTurn(folder, 'reporting', ({ pid }) => inUse(folder, pid)));
  return { folder, [Symbol.dispose]: () => turn[Symbol.dispose]() };
}

function expectReport(folder: string): void {
  const [first] = partsOf(folder);
  if (first === undefined || isReport(folder, LEVELS)) return;
  throw new HarnessError(
    'USAGE',
    `--report: ${folder} has no report, but ${first.name}; expected a new folder, an empty one or that of an earlier run`,
    { hint: 'Choose another folder: files that have the names of a report would be replaced.' },
  );
}

function partsOf(folder: string): Dirent[] {
  return entriesOf(folder).filter(({ name }) => !TURN.test(name));
}

/** A folder without a file that says so has nothing but runs' folders. */
function isReport(folder: string, levels: number): boolean {
  if (Object.entries(SIGNS).some(([name, isIts]) => isIts(documentIn(join(folder, name))))) return true;
  const parts = levels === 0 ? [] : partsOf(folder);
  return (
    parts.length > 0 &&
    parts.every((part) => part.isDirectory() && isReport(join(folder, part.name), levels - 1))
  );
}

/** @returns empty: missing, or no document */
function documentIn(path: string): Readonly<Record<string, unknown>> {
  if (statusOf(path)?.isFile() !== true) return {};
  try {
    return (readJson(path) ?? {}) as Readonly<Record<string, unknown>>;
  } catch (error) {
    // Somebody else's.
    if (error instanceof HarnessError && error.code === 'STATE_INVALID') return {};
    throw error;
  }
}

function inUse(folder: string, pid: number): HarnessError {
  return new HarnessError('USAGE', `--report: process ${pid} writes its run to ${folder}`, {
    hint: 'Choose another folder, or wait for the end of that run.',
  });
}
