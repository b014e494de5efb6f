import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { junitXml } from './junit.ts';
import type { RunResult } from './result.ts';

/** Version of `report.json`; raised when a field changes its meaning. */
const REPORT_SCHEMA = 1;

/** Writes `report.json` and `junit.xml` into the run's folder; logs and the ledger are already there. */
export async function writeReport(run: RunResult): Promise<void> {
  await mkdir(run.report, { recursive: true });
  await writeFile(
    join(run.report, 'report.json'),
    `${JSON.stringify({ schema: REPORT_SCHEMA, ...run }, undefined, 2)}\n`,
  );
  await writeFile(join(run.report, 'junit.xml'), junitXml(run));
}
