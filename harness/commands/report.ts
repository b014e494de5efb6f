/** `svcnet report RUN`: write the pages of a run again from its folder. */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/words.ts';
import { openInBrowser } from '../machine/open.ts';
import { REPORT_PAGE, writePages } from '../report/folder.ts';
import { readReport } from '../report/read-report.ts';
import { answer, type CommandContext } from './context.ts';

export interface ReportFlags {
  readonly baseline?: string;
  readonly open?: boolean;
}

/** The run that ended last. */
const LAST = 'last';

/** @throws HarnessError `REPORT_NOT_FOUND`, `REPORT_INVALID`, `CANNOT_WRITE` */
export async function report(name: string, flags: ReportFlags, context: CommandContext): Promise<void> {
  const { stateDir } = context;
  const run = await readReport(findRun(stateDir, name));
  const baseline =
    flags.baseline === undefined ? undefined : await readReport(findRun(stateDir, flags.baseline));
  await writePages(run, baseline);
  const page = join(run.report, REPORT_PAGE);
  if (flags.open === true) await openInBrowser(page);
  const verdict = run.passed ? 'passed' : 'failed';
  answer(context, { run: run.run, passed: run.passed, page }, [
    `  ${run.run} ${verdict}`,
    `  report       ${page}`,
  ]);
}

/**
 * @param name a folder, the name of a run in the state folder, or `last`
 * @returns the folder @throws HarnessError `REPORT_NOT_FOUND`
 */
export function findRun(stateDir: string, name: string): string {
  const runs = join(stateDir, 'runs');
  const known = existsSync(runs)
    ? readdirSync(runs)
        .filter((run) => existsSync(join(runs, run, 'report.json')))
        .toSorted()
    : [];
  const last = known.at(-1);
  if (name === LAST) {
    if (last !== undefined) return join(runs, last);
    throw new HarnessError('REPORT_NOT_FOUND', `no run has been reported in ${runs}`, {
      hint: 'Make one with: svcnet run smoke',
    });
  }
  if (known.includes(name)) return join(runs, name);
  if (existsSync(name)) return resolve(name);
  throw new HarnessError('REPORT_NOT_FOUND', `no run or folder '${name}'${suggestion(name, known)}`, {
    hint:
      last === undefined
        ? `There is no run in ${runs}.`
        : `The last run in ${runs} is ${last}; 'last' stands for it.`,
  });
}
