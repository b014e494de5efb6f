/** A report's folder while its run writes to it. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { entriesOf } from '../base/own-folder.ts';
import { takeTurn } from '../cluster/state/turn.ts';
import {
  inReport,
  LEDGER_FILE,
  RECIPE_FILE,
  REPEAT_FILE,
  REPORT_FILE,
  SCHEDULE_FILE,
  SEEDS_FILE,
} from '../report/folder.ts';

/** Any of these files makes a folder that of a run, or of several. */
const SIGNS = [REPORT_FILE, RECIPE_FILE, REPEAT_FILE, SEEDS_FILE, SCHEDULE_FILE, LEDGER_FILE];
/** A repetition's runs are in its folder, a comparison's one level deeper. */
const LEVELS = 2;
/** Files of writing runs, which a killed process may have left. */
const TURN = /^reporting-\d+\.json$/;

export interface ReportFolder extends Disposable {
  readonly folder: string;
}

/**
 * A folder for one run at a time; an earlier report in it is removed later.
 * @param given on the command line @param fresh makes another one, without it
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
  const [first] = entriesOf(folder).filter(({ name }) => !TURN.test(name));
  if (first === undefined || hasReport(folder, LEVELS)) return;
  throw new HarnessError(
    'USAGE',
    `--report: ${folder} has no report, but ${first.name}; expected a new folder, an empty one or that of an earlier run`,
    { hint: 'Choose another folder: files that have the names of a report would be replaced.' },
  );
}

function hasReport(folder: string, levels: number): boolean {
  if (SIGNS.some((name) => existsSync(join(folder, name)))) return true;
  if (levels === 0) return false;
  return entriesOf(folder).some(
    (entry) => entry.isDirectory() && hasReport(join(folder, entry.name), levels - 1),
  );
}

function inUse(folder: string, pid: number): HarnessError {
  return new HarnessError('USAGE', `--report: process ${pid} writes its run to ${folder}`, {
    hint: 'Choose another folder, or wait for the end of that run.',
  });
}
