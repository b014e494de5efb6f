import { expect, test } from 'vitest';
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
