import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { failuresOf, flakesOf, optionsOf, summaryOf } from '../suite/flakes.ts';
import { ROOT } from '../suite/vitest.ts';

type Result = [name: string, ...why: string[]];

/** A test without a reason passed. */
function report(tests: Result[], file: { status?: string; message?: string } = {}) {
  const assertionResults = tests.map(([fullName, ...failureMessages]) => ({
    fullName,
    status: failureMessages.length > 0 ? 'failed' : 'passed',
    failureMessages,
  }));
  const status = assertionResults.some((result) => result.status === 'failed') ? 'failed' : 'passed';
  const name = '/repo/test/a.test.ts';
  return {
    testResults: [{ name, startTime: 0, endTime: 1, status, message: '', assertionResults, ...file }],
  };
}

describe('what failed in a run', () => {
  const failed = (code: number | null, from?: ReturnType<typeof report>) => [
    ...failuresOf(code, from, '/repo/'),
  ];

  test('is every failed test, with all its reasons', () => {
    const from = report([['is fine'], ['breaks', 'first', 'second'], ['breaks, too', 'third']]);
    expect(failed(1, from)).toEqual([
      ['test/a.test.ts breaks', 'first\n\nsecond'],
      ['test/a.test.ts breaks, too', 'third'],
    ]);
    expect(failed(0, report([['is fine']]))).toEqual([]);
  });

  test('is the file when it does not load or a hook of it fails', () => {
    const beside = { status: 'failed', message: 'no such module' };
    expect(failed(1, report([], beside))).toEqual([['test/a.test.ts', 'no such module']]);
    expect(failed(1, report([['breaks', 'why']], beside)).map(([name]) => name)).toEqual([
      'test/a.test.ts breaks',
      'test/a.test.ts',
    ]);
    expect(failed(1, report([['is fine']], { status: 'failed' }))).toEqual([['test/a.test.ts', '']]);
  });

  test('is vitest when it ends red without a failed test, or without a report', () => {
    const ended = 'no test failed, but vitest ended with';
    expect(failed(1, report([['is fine']]))).toEqual([['vitest', `${ended} 1`]]);
    expect(failed(null)).toEqual([['vitest', `${ended} a signal`]]);
  });
});

test('tests that failed are counted, the most frequent first, each with its first failure', () => {
  const runs = [{}, { rare: 'once' }, { often: 'first' }, { often: 'second' }].map(
    (failures) => new Map(Object.entries(failures)),
  );
  expect(flakesOf(runs)).toEqual([
    { name: 'rare', times: 1, firstRun: 2, why: 'once', log: 'failure-1.log' },
    { name: 'often', times: 2, firstRun: 3, why: 'first', log: 'failure-2.log' },
  ]);
  expect(summaryOf(runs).split('\n')).toEqual([
    '3 of 4 runs failed (75 %)',
    '        2 of 4  often  (failure-2.log)',
    '        1 of 4  rare  (failure-1.log)',
  ]);
  expect(summaryOf([new Map()])).toBe('0 of 1 runs failed (0 %)');
  expect(summaryOf([])).toBe('0 of 0 runs failed');
});

test('arguments have defaults, and are refused with what was expected', () => {
  expect(optionsOf(['a', 'b'])).toEqual({ repeat: 20, load: 0, filters: ['a', 'b'] });
  expect(optionsOf(['--repeat', '3', 'a', '--load=2'])).toEqual({ repeat: 3, load: 2, filters: ['a'] });
  expect(optionsOf(['--help'])).toBeUndefined();
  expect(() => optionsOf(['--often', 'a'])).toThrow("Unknown option '--often'");
  expect(() => optionsOf([])).toThrow('no FILTER: expected at least one');
  expect(() => optionsOf(['--repeat', '0', 'a'])).toThrow(
    '--repeat 0: expected a whole number from 1 to 10000',
  );
  expect(() => optionsOf(['--load', 'two', 'a'])).toThrow(
    '--load two: expected a whole number from 0 to 256',
  );
  expect(() => optionsOf(['--load', '257', 'a'])).toThrow('--load 257');
});

describe('npm run suite', () => {
  const suite = (...args: string[]) =>
    spawnSync(process.execPath, ['test/suite/run.ts', ...args], { cwd: ROOT, encoding: 'utf8' });

  test('runs files as often as it is told, beside load, and is green when they are', () => {
    expect(suite('--repeat', '2', '--load', '1', 'test/unit/times.test.ts')).toMatchObject({
      stdout: '0 of 2 runs failed (0 %)\n',
      stderr: 'run 1 of 2: 0 failed\nrun 2 of 2: 0 failed\n',
      status: 0,
    });
  });

  test('refuses a filter that matches no file', () => {
    expect(suite('test/unit/times.test.ts', 'no-such-file')).toMatchObject({
      stderr: "suite: no test file matches 'no-such-file': expected part of the path of one\n",
      status: 2,
    });
  });

  test('tells what it has seen when it is interrupted', async () => {
    const command = spawn(process.execPath, ['test/suite/run.ts', '--load', '1', 'unit/times.test.ts'], {
      cwd: ROOT,
    });
    let stdout = '';
    command.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    await once(command.stderr, 'data');
    command.kill('SIGINT');
    expect(await once(command, 'close')).toEqual([130, null]);
    expect(stdout).toMatch(/^0 of \d+ runs failed \(0 %\)\n$/);
  });

  test('load ends when its input closes, as it does when the one that started it is killed', async () => {
    const busy = spawn(process.execPath, ['test/suite/busy-process.ts'], { cwd: ROOT });
    busy.stdin.end();
    expect(await once(busy, 'exit')).toEqual([0, null]);
  });
});
