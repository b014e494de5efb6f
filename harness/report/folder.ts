import { mkdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cannotWrite } from '../base/errors.ts';
import { junitXml } from './junit.ts';
import type { RunResult } from './result.ts';

/** Version of `report.json`; raised when a field changes its meaning. 2: percentiles are null when samples are too few. */
export const REPORT_SCHEMA = 2;

/** Everything about a run; what makes a folder one of a run. */
export const REPORT_FILE = 'report.json';

/** What to do when the folder cannot be written to. */
export const REPORT_REMEDY = 'choose another with --report';

/** @throws HarnessError `CANNOT_WRITE` */
export function createReport(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw cannotWrite(folder, error, REPORT_REMEDY);
  }
}

/** Writes `report.json` and `junit.xml` into the run's folder; logs and the ledger are already there. */
export async function writeReport(run: RunResult): Promise<void> {
  const document = `${JSON.stringify({ schema: REPORT_SCHEMA, ...run }, undefined, 2)}\n`;
  try {
    await mkdir(run.report, { recursive: true });
    await writeFile(join(run.report, REPORT_FILE), document);
    await writeFile(join(run.report, 'junit.xml'), junitXml(run));
  } catch (error) {
    throw cannotWrite(run.report, error, REPORT_REMEDY);
  }
}
