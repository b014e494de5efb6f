/** A report as files of a folder. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cannotWrite, HarnessError, messageOf } from '../base/errors.ts';
import { makeFolder } from '../base/own-folder.ts';
import { readFileLimited } from '../base/read-limited.ts';
import { conformanceJunit } from './junit.ts';
import { conformancePage } from './page.ts';
import type { ConformanceReport } from './row.ts';

/** Longest report, bytes; one with every exchange has some MiB. */
const REPORT_MAX = 128 * 2 ** 20;

/** @throws HarnessError `RUN_INVALID` for a file that is missing or no conformance report */
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

/** @throws HarnessError `CANNOT_WRITE` */
export function writeText(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw cannotWrite(dirname(path), error, 'choose another with --output');
  }
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
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  } catch (error) {
    throw cannotWrite(folder, error, 'choose another with --output');
  }
}
