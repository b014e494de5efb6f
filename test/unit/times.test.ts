import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { groupIn, type Noted, removeGroups } from '../suite/processor.ts';
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
/** Runs a script of the shell with it, and says what both took, measured either way, and where. */
const STARTER = `
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { processorMeter, withoutGroup } from '${new URL('../suite/processor.ts', import.meta.url).href}';
  const { read, group } = processorMeter();
  const before = [read(), withoutGroup()];
  const [script] = process.argv.slice(1);
  const env = { ...process.env, GROUP: group ?? '' };
  await once(spawn('/bin/sh', ['-c', script, process.execPath, ${JSON.stringify(BUSY)}], { env }), 'close');
  console.log(JSON.stringify({ ms: read() - before[0], waitedMs: withoutGroup() - before[1], group }));
`;

test.runIf(process.platform === 'linux')(
  'processes that a process has waited for are in its processor time',
  async () => {
    const { ms, waitedMs } = await measured('"$0" --eval "$1"');
    expect(Math.min(Number(ms), waitedMs)).toBeGreaterThanOrEqual(80);
  },
);

test.runIf(process.platform === 'linux')(
  'where there are control groups, so are those that outlive what started them',
  async () => {
    const { ms, group } = await measured('"$0" --eval "$1" &');
    expect(ms).toBeGreaterThanOrEqual(group === undefined ? 0 : 80);
  },
);

test.runIf(process.platform === 'linux')('groups inside a group go with it', async () => {
  await measured('[ -z "$GROUP" ] || mkdir "$GROUP/inside"');
});

test.each([
  [
    'version 2',
    '30 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw',
    '0::/user.slice',
    '/sys/fs/cgroup/user.slice',
  ],
  ['a container', '30 24 0:27 / /sys/fs/cgroup ro master:9 - cgroup2 cgroup rw', '0::/', '/sys/fs/cgroup/'],
  [
    'both versions',
    '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
    '1:cpu:/a\n0::/b',
    '/sys/fs/cgroup/unified/b',
  ],
  ['version 1', '32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu', '1:cpu:/a', undefined],
])('the control group of a process is known with %s', (_of, mounts, groups, group) => {
  expect(groupIn(`23 0 8:1 / / rw - ext4 /dev/root rw\n${mounts}\n`, `${groups}\n`)).toBe(group);
});

const WAIT = { timeout: 60_000 };
/** Its group is removed. */
async function measured(script: string): Promise<Noted & { readonly waitedMs: number }> {
  const program = ['--input-type=module', '--eval', STARTER, script];
  const noted = JSON.parse(execFileSync(process.execPath, program, { encoding: 'utf8' })) as Awaited<
    ReturnType<typeof measured>
  >;
  // The last process closes its output before it leaves its group.
  await vi.waitFor(() => {
    removeGroups([noted]);
    expect(noted.group === undefined || !existsSync(noted.group)).toBe(true);
  }, WAIT);
  return noted;
}
