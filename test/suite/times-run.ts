/**
 * `npm run suite-times -- REPORT.json…`: how long each file and folder took, slowest first. Other arguments name tests to
 * run now, with their processor time: `npm run suite-times -- test/cluster/node`. The runs of the reports noted theirs in
 * the file of SVCNET_PROCESSOR_TIMES, if it was set as it is now.
 */
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROCESSOR_TIMES, readProcessor, removeGroups } from './processor.ts';
import { timesOf } from './times.ts';
import { ROOT, readReport, runVitest } from './vitest.ts';

const { reports = [], filters = [] } = Object.groupBy(process.argv.slice(2), (argument) =>
  argument.endsWith('.json') ? 'reports' : 'filters',
);
using folder = mkdtempDisposableSync(join(tmpdir(), 'svcnet-times-'));
const processor = (process.env[PROCESSOR_TIMES] ??= join(folder.path, 'processor'));
try {
  writeFileSync(processor, '', { flag: 'a' });
  if (reports.length === 0 || filters.length > 0) {
    const report = join(folder.path, 'report.json');
    // A red run has taken its time as well.
    process.exitCode = (await runVitest(filters, { report, output: 2 })) ?? 1;
    reports.push(report);
  }
  const noted = readProcessor(processor);
  removeGroups(noted.values());
  process.stdout.write(`${timesOf(reports.map(readReport), ROOT, noted)}\n`);
} catch (error) {
  process.stderr.write(`suite-times: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
