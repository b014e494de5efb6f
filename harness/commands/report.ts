import { join } from 'node:path';
import { openInBrowser } from '../base/machine/open.ts';
import { expectPages, REPORT_PAGE, writePages } from '../report/folder.ts';
import { findRun, readRun } from '../report/read-run.ts';
import { answer, type CommandContext } from './context.ts';

export interface ReportFlags {
  readonly baseline?: string;
  readonly open?: boolean;
}

export async function report(name: string, flags: ReportFlags, context: CommandContext): Promise<void> {
  const { stateDir } = context;
  const run = readRun(findRun(name, stateDir));
  const baseline = flags.baseline === undefined ? undefined : readRun(findRun(flags.baseline, stateDir));
  expectPages(run.report);
  await writePages(run, baseline);
  const page = join(run.report, REPORT_PAGE);
  if (flags.open === true) await openInBrowser(page);
  const verdict = run.passed ? 'passed' : 'failed';
  answer(context, { run: run.run, passed: run.passed, page }, [
    `  ${run.run} ${verdict}`,
    `  report       ${page}`,
  ]);
}
