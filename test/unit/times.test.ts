import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { processorMs } from '../suite/processor.ts';
import { timesOf } from '../suite/times.ts';
import type { Report } from '../suite/vitest.ts';

function file(name: string, ms: number, tests: number): Report['testResults'][number] {
  const test = { fullName: 'works', status: 'passed', failureMessages: [] };
  const assertionResults = Array.from({ length: tests }, () => test);
  return { name, startTime: 1000, endTime: 1000 + ms, status: 'passed', message: '', assertionResults };
}

test('files and folders come slowest first, with their tests, over all reports', () => {
  const reports = [
    { testResults: [file('/repo/test/a/quick.test.ts', 100, 1), file('/repo/test/b/slow.test.ts', 5000, 2)] },
    { testResults: [file('/repo/test/a/slower.test.ts', 6049, 30)] },
  ];
  expect(timesOf(reports, '/repo/').split('\n')).toEqual([
    '     6.0 s     30 tests  test/a/slower.test.ts',
    '     5.0 s      2 tests  test/b/slow.test.ts',
    '     0.1 s      1 tests  test/a/quick.test.ts',
    '',
    '     6.1 s     31 tests  test/a/',
    '     5.0 s      2 tests  test/b/',
    '',
    '    11.1 s     33 tests  all',
  ]);
});

test('processor time stands beside it where all files of a line were measured', () => {
  const reports = [
    { testResults: [file('/repo/test/a/quick.test.ts', 100, 1), file('/repo/test/b/slow.test.ts', 5000, 2)] },
  ];
  const processor = new Map([['/repo/test/a/quick.test.ts', 2345]]);
  expect(timesOf(reports, '/repo/', processor).split('\n')).toEqual([
    '     5.0 s      2 tests  test/b/slow.test.ts',
    '     0.1 s      2.3 s of a processor      1 tests  test/a/quick.test.ts',
    '',
    '     5.0 s      2 tests  test/b/',
    '     0.1 s      2.3 s of a processor      1 tests  test/a/',
    '',
    '     5.1 s      3 tests  all',
  ]);
});

/** Takes at least 100 ms of a processor. */
const BUSY =
  'const taken = ({ user, system }) => user + system; while (taken(process.cpuUsage()) < 100_000);';

test.runIf(process.platform === 'linux')(
  'processes that a process has waited for are in its processor time',
  () => {
    const before = processorMs();
    execFileSync(process.execPath, ['--eval', BUSY]);
    expect(processorMs() - before).toBeGreaterThanOrEqual(80);
  },
);
