import { dirname, join } from 'node:path';
import { cannotWrite, HarnessError, messageOf } from '../base/errors.ts';
import { expectReplaceable, makeFolder, replaceFile } from '../base/own-folder.ts';
import { readFileLimited } from '../base/read-limited.ts';
import { conformanceJunit } from './junit.ts';
import { conformancePage } from './page.ts';
import { PAGE_HEAD } from './published.ts';
import type { ConformanceReport } from './row.ts';

const REPORT_MAX = 128 * 2 ** 20;

/** @throws HarnessError `RUN_INVALID` unless it is a conformance report */
export function readReport(path: string): ConformanceReport {
  let report: Partial<ConformanceReport> | undefined;
  try {
    report = JSON.parse(readFileLimited(path, REPORT_MAX)) as Partial<ConformanceReport>;
  } catch (cause) {
    throw new HarnessError('RUN_INVALID', `${path}: ${messageOf(cause)}`, { cause });
  }
  if (Array.isArray(report?.rows) && typeof report.kind === 'string') return report as ConformanceReport;
  throw new HarnessError('RUN_INVALID', `${path}: got another document, expected a conformance.json`);
}

/** Replaces an earlier page. @throws HarnessError `USAGE` for a file of somebody else, `CANNOT_WRITE` */
export function writePage(path: string, text: string): void {
  expectReplaceable('--output', path, (before) => before.startsWith(PAGE_HEAD));
  try {
    replaceFile(path, text);
  } catch (error) {
    throw cannotWrite(dirname(path), error, 'choose another with --output');
  }
}

/**
 * Called before grading: a report may replace only an earlier one. @param folder may be missing
 * @throws HarnessError `USAGE`
 */
export function expectReportFolder(folder: string): void {
  const isReport = (content: string) => content.includes('"kind"') && content.includes('"leftBehind"');
  expectReplaceable('--output', join(folder, 'conformance.json'), isReport);
  expectReplaceable('--output', join(folder, 'junit.xml'), (text) =>
    text.includes('<testsuites name="svcnet conformance '),
  );
  expectReplaceable('--output', join(folder, 'report.html'), (text) => text.includes('<title>Conformance '));
}

/** Writes `conformance.json`, `junit.xml` and `report.html`. @throws HarnessError `CANNOT_WRITE` */
export function writeReport(folder: string, report: ConformanceReport): void {
  const files = {
    'conformance.json': `${JSON.stringify(report, null, 2)}\n`,
    'junit.xml': conformanceJunit(report),
    'report.html': conformancePage(report),
  };
  try {
    makeFolder(folder);
    for (const [name, text] of Object.entries(files)) replaceFile(join(folder, name), text);
  } catch (error) {
    throw cannotWrite(folder, error, 'choose another with --output');
  }
}
