import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Noted, removeGroups } from '../suite/processor.ts';
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

test('what took most of a processor comes first, where all files of a line were measured', () => {
  const reports = [
    {
      testResults: [
        file('/repo/test/a/quick.test.ts', 100, 1),
        file('/repo/test/b/slow.test.ts', 5000, 2),
        file('/repo/test/c/waiting.test.ts', 9000, 3),
      ],
    },
  ];
  const processor = new Map([
    ['/repo/test/a/quick.test.ts', { ms: 2345 }],
    ['/repo/test/c/waiting.test.ts', { ms: 200 }],
  ]);
  expect(timesOf(reports, '/repo/', processor).split('\n')).toEqual([
    '     0.1 s      2.3 s of a processor      1 tests  test/a/quick.test.ts',
    '     9.0 s      0.2 s of a processor      3 tests  test/c/waiting.test.ts',
    '     5.0 s      2 tests  test/b/slow.test.ts',
    '',
    '     0.1 s      2.3 s of a processor      1 tests  test/a/',
    '     9.0 s      0.2 s of a processor      3 tests  test/c/',
    '     5.0 s      2 tests  test/b/',
    '',
    '    14.1 s      6 tests  all',
  ]);
});

const BUSY =
  'const taken = ({ user, system }) => user + system; while (taken(process.cpuUsage()) < 100_000);';
/** Starts it with a shell and awaits it, and says what both took, and where. */
const STARTER = `
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { processorMeter } from '${new URL('../suite/processor.ts', import.meta.url).href}';
  const { read, group } = processorMeter();
  const before = read();
  const [script] = process.argv.slice(1);
  await once(spawn('/bin/sh', ['-c', script, process.execPath, ${JSON.stringify(BUSY)}]), 'close');
  console.log(JSON.stringify({ ms: read() - before, group }));
`;

test.runIf(process.platform === 'linux')(
  'processes that a process has waited for are in its processor time',
  () => {
    expect(measured('"$0" --eval "$1"').ms).toBeGreaterThanOrEqual(80);
  },
);

test.runIf(process.platform === 'linux')(
  'where there are control groups, so are those that outlive what started them',
  () => {
    const { ms, group } = measured('"$0" --eval "$1" &');
    expect(ms).toBeGreaterThanOrEqual(group === undefined ? 0 : 80);
    expect(group === undefined || !existsSync(group)).toBe(true);
  },
);

function measured(script: string): Noted {
  const program = ['--input-type=module', '--eval', STARTER, script];
  const noted = JSON.parse(execFileSync(process.execPath, program, { encoding: 'utf8' })) as Noted;
  removeGroups([noted]);
  return noted;
}
