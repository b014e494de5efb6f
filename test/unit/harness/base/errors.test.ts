import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  aboutFile,
  cannotRead,
  cannotWrite,
  endHint,
  fileRefused,
  HarnessError,
  logFailure,
  messageOf,
  reasonOf,
  systemHint,
} from '../../../../harness/base/errors.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-errors');

function systemError(code: string, syscall: string, path?: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: told by the system`), { code, syscall, path });
}

test.each([
  ['EROFS', 'mkdir', 'read-only file system (EROFS); choose another with SVCNET_STATE'],
  ['EACCES', 'open', 'permission denied (EACCES); choose another with SVCNET_STATE'],
  ['EPERM', 'mkdir', 'operation not permitted (EPERM); choose another with SVCNET_STATE'],
  ['ENOSPC', 'write', 'disk full (ENOSPC); choose another with SVCNET_STATE'],
  ['ENAMETOOLONG', 'mkdir', 'name too long (ENAMETOOLONG); choose another with SVCNET_STATE'],
  ['EMFILE', 'open', 'too many open files (EMFILE); allow more with: ulimit -n 4096'],
  ['EFBIG', 'write', 'file too large (EFBIG); allow larger files with: ulimit -f unlimited'],
])('%s of %s names the folder, the reason and a remedy', (code, syscall, words) => {
  const path = syscall === 'write' ? undefined : '/state/clusters/local/run/node-0.json';
  const error = cannotWrite('/state', systemError(code, syscall, path));
  expect(error).toMatchObject({ code: 'CANNOT_WRITE', message: `cannot write to /state: ${words}` });
});

test.each([
  [{ code: 'ENAMETOOLONG', syscall: 'stat', path: '/a' }, 'cannot access /a: name too long (ENAMETOOLONG)'],
  [{ code: 'ENOENT', syscall: 'open', path: '/a' }, 'cannot open /a: no such file or folder (ENOENT)'],
  [{ code: 'EMFILE', syscall: 'open', path: '/a' }, 'cannot open /a: too many open files (EMFILE)'],
  [{ code: 'ENOENT', syscall: 'spawn ssh', path: 'ssh' }, 'cannot run ssh: no such program (ENOENT)'],
  [{ code: 'ENOSPC', syscall: 'write' }, 'disk full (ENOSPC)'],
  [
    { code: 'EAGAIN', syscall: 'spawn node', path: 'node' },
    'cannot run node: resource temporarily unavailable (EAGAIN)',
  ],
  [{ code: 'EIO', syscall: 'read', path: '/a' }, 'cannot read /a: input/output error (EIO)'],
  [
    { code: 'EACCES', syscall: 'rename', path: '/a', dest: '/b' },
    'cannot move /a to /b: permission denied (EACCES)',
  ],
  [
    { code: 'ERR_ACCESS_DENIED', permission: 'FileSystemRead', resource: '/a' },
    'cannot access /a: Node.js runs without this permission (ERR_ACCESS_DENIED)',
  ],
])('a refusal of the system is told in words: %j', (fields, words) => {
  expect(messageOf(Object.assign(new Error(`${fields.code}: told by the system`), fields))).toBe(words);
});

test.each([[{ code: 'ECONNREFUSED', syscall: 'connect' }], [{ code: 'ENOENT' }], [{}]])(
  'other errors keep their text: %j',
  (fields) => {
    expect(messageOf(Object.assign(new Error('as it was'), fields))).toBe('as it was');
  },
);

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             60                   63432                processes
Max address space         unlimited            unlimited            bytes
`;

/** What `/proc/self` has. */
function ownOf(files: Readonly<Record<string, string>>): string {
  const own = mkdtempSync(join(folder, 'process-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(own, name), text);
  return own;
}

test('a process that was aborted may have reached a limit, which is named', () => {
  const own = ownOf({ stat: '', limits: LIMITS });
  const hint = 'It may have reached a limit: Max processes 60 (ulimit -u)';
  expect(endHint([' (SIGABRT)'], own)).toBe(hint);
  expect(endHint(['', 'Anvil did not start (signal SIGABRT)'], own)).toBe(hint);
  expect(endHint([' (exit code 1)', 'svc: bad option'], own)).toBeUndefined();
  expect(endHint([' (SIGABRT)', 'FATAL ERROR: JavaScript heap out of memory'], own)).toBeUndefined();
  expect(endHint([' (SIGABRT)'], ownOf({ stat: '', limits: '' }))).toBeUndefined();
  expect(endHint([' (exit code 1)', 'EFBIG: file too large, write'], own)).toBe(
    'Allow larger files with: ulimit -f unlimited',
  );
});

test('a Linux machine without /proc is named as the cause', () => {
  const linux = 'svcnet watches processes through /proc, which is not mounted here.';
  expect(endHint([''], ownOf({}))).toBe(process.platform === 'linux' ? linux : undefined);
});

test('a program that cannot be started may have reached the same limits', () => {
  expect(systemHint(systemError('EAGAIN', 'spawn node'))).toBe(endHint([' (SIGABRT)']));
});

test.each([
  ['0::/user/run', 'user/run/pids.max', '64'],
  ['0::/user/run', 'user/pids.max', '64'],
  ['0::/', 'pids.max', '64'],
  ['9:name=systemd:/other\n8:pids:/user', 'pids/user/pids.max', '64'],
  ['0::/user', 'user/pids.max', undefined],
])('the processes of cgroup %j are limited by %s', (cgroup, file, most) => {
  const own = ownOf({ stat: '', limits: '', cgroup });
  const cgroups = ownOf({});
  mkdirSync(dirname(join(cgroups, file)), { recursive: true });
  writeFileSync(join(cgroups, file), `${most ?? 'max'}\n`);
  expect(endHint([' (SIGABRT)'], own, cgroups)).toBe(
    most && `It may have reached a limit: pids.max ${most} of its cgroup (docker run --pids-limit)`,
  );
});

test('an error of an open file names the file, and one that names another keeps it', () => {
  expect(messageOf(aboutFile('/a', Object.assign(new Error('x'), { code: 'EFBIG', syscall: 'write' })))).toBe(
    'cannot write /a: file too large (EFBIG)',
  );
  expect(aboutFile('/a', systemError('EIO', 'read', '/b'))).toMatchObject({ path: '/b' });
  expect(aboutFile('/a', { code: 'EIO', syscall: 'read' })).toMatchObject({ path: '/a' });
  expect(aboutFile('/a', 'a text')).toBe('a text');
});

test.each([undefined, null, 'a text'])('%j that was thrown has a message and no hint', (thrown) => {
  expect([messageOf(thrown), reasonOf(thrown), systemHint(thrown)]).toEqual([
    String(thrown),
    undefined,
    undefined,
  ]);
});

test('a file that is not written says that its folder is missing', () => {
  expect(fileRefused('/a/b', systemError('ENOENT', 'open', '/a/b'), 'hint')).toMatchObject({
    message: 'cannot write /a/b: no such folder (ENOENT)',
    hint: undefined,
  });
  expect(fileRefused('/a', systemError('ENAMETOOLONG', 'open', '/a'), 'hint')).toMatchObject({
    hint: 'Choose a shorter name.',
  });
});

test('only what another owner may read has the advice to change rights', () => {
  expect(cannotRead('/a', systemError('EACCES', 'open', '/a'))).toMatchObject({
    hint: expect.stringContaining('chmod'),
  });
  expect(cannotRead('/a', systemError('ENAMETOOLONG', 'open', '/a'))).toMatchObject({
    hint: 'Choose a shorter name.',
  });
  expect((cannotRead('/a', systemError('ENOTDIR', 'open', '/a')) as HarnessError).hint).toBeUndefined();
});

test('the reason may be the cause of another error', () => {
  const wrapped = new HarnessError('PROCESS_FAILED', 'node: ENOSPC', {
    cause: systemError('ENOSPC', 'open', '/state/logs/node-0.log'),
  });
  expect(messageOf(cannotWrite('/state', wrapped))).toContain('disk full');
});

test.each([
  systemError('EACCES', 'spawn', '/opt/bee'),
  systemError('EACCES', 'open', '/elsewhere/bee'),
  systemError('ECONNREFUSED', 'connect'),
  new Error('broken'),
])('errors of another kind stay as they are: %s', (error) => {
  expect(cannotWrite('/state', error)).toBe(error);
});

test('explains that a folder cannot be created below a file', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const state = join(file, 'state');
  let error: unknown;
  try {
    mkdirSync(join(state, 'clusters'), { recursive: true });
  } catch (thrown) {
    error = cannotWrite(state, thrown);
  }
  expect(messageOf(error)).toBe(
    `cannot write to ${state}: a file is where a folder should be (ENOTDIR); choose another with SVCNET_STATE`,
  );
});

test('a log that cannot be written explains the end of its program', () => {
  expect(logFailure(join(folder, 'node-0.log'))).toBeUndefined();
  // The device that is always full.
  expect(logFailure('/dev/full')?.message).toContain('disk full (ENOSPC)');
});
