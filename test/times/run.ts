/**
 * `npm run suite-times -- REPORT.json…`: how long each file of vitest's JSON reports took, and each folder, slowest first.
 * Arguments that are no reports are names of tests to run now: `npm run suite-times -- test/cluster/node`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Report, timesOf } from './times.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VITEST = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'test/vitest.config.ts'];

function read(path: string): Report {
  const report = JSON.parse(readFileSync(path, 'utf8')) as Partial<Report>;
  if (!Array.isArray(report.testResults))
    throw new Error(`${path}: expected a report of vitest --reporter=json`);
  return report as Report;
}

const { reports = [], filters = [] } = Object.groupBy(process.argv.slice(2), (argument) =>
  argument.endsWith('.json') ? 'reports' : 'filters',
);
using folder = mkdtempDisposableSync(join(tmpdir(), 'svcnet-times-'));
try {
  if (reports.length === 0 || filters.length > 0) {
    const report = join(folder.path, 'report.json');
    const args = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...filters];
    const run = spawnSync(process.execPath, [...VITEST, ...args], { cwd: ROOT, stdio: ['ignore', 2, 2] });
    // A run that is red has taken its time as well.
    process.exitCode = run.status ?? 1;
    reports.push(report);
  }
  process.stdout.write(`${timesOf(reports.map(read), ROOT)}\n`);
} catch (error) {
  process.stderr.write(`suite-times: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
