/** `report.json` of a run's folder, read again. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import type { RunResult } from './result.ts';

/** Version of `report.json`; raised when a field changes its meaning. 2: percentiles are null when samples are too few. */
export const REPORT_SCHEMA = 2;

/** Everything about a run; what makes a folder one of a run. */
export const REPORT_FILE = 'report.json';

/**
 * @param folder of a run @returns the run, with the folder where it is now
 * @throws HarnessError `REPORT_NOT_FOUND`, `REPORT_INVALID`
 */
export async function readReport(folder: string): Promise<RunResult> {
  const path = join(folder, REPORT_FILE);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    throw new HarnessError('REPORT_NOT_FOUND', `no report in ${folder}`, {
      hint: 'Name the folder of a run, or the run itself; a run writes report.json into its folder when it ends.',
    });
  });
  const document = parsed(text, path);
  if (document.schema !== REPORT_SCHEMA) {
    throw new HarnessError(
      'REPORT_INVALID',
      `${path}: got schema ${JSON.stringify(document.schema) ?? 'none'}, expected ${REPORT_SCHEMA}`,
      { hint: `Another version of svcnet has written it. Repeat the run${repeatHint(document)}.` },
    );
  }
  const { schema: _schema, ...run } = document;
  return { ...run, report: folder };
}

type ReportDocument = RunResult & { readonly schema?: unknown };

function parsed(text: string, path: string): ReportDocument {
  try {
    const document = JSON.parse(text) as ReportDocument | null;
    if (typeof document === 'object' && document !== null) return document;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new HarnessError('REPORT_INVALID', `${path}: expected one JSON object`);
}

function repeatHint({ command }: ReportDocument): string {
  return typeof command === 'string' ? `: ${command}` : '';
}
