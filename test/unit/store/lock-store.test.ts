import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockFolder } from '../../../node/store/lock-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a folder is free again when its lock is released', () => {
  const unlock = lockFolder(folder);
  expect(existsSync(join(folder, 'lock'))).toBe(true);
  unlock();
  lockFolder(folder)();
  expect(existsSync(join(folder, 'lock'))).toBe(false);
});

test('the folder of a running process is refused, naming its process id', () => {
  // The parent of this test process is alive and is not this process.
  writeFileSync(join(folder, 'lock'), `${process.ppid} `);
  expect(() => lockFolder(folder)).toThrow(
    expect.objectContaining({
      code: 'DATA_DIR_IN_USE',
      message: `${folder} is used by process ${process.ppid}: two nodes cannot share a data folder`,
    }),
  );
});

test.each([
  ['a process that is gone', '4194305 1'],
  ['a later process with the same id', `${process.ppid} 1`],
  ['nobody', 'garbage'],
])('the lock of %s does not count', (_, holder) => {
  writeFileSync(join(folder, 'lock'), holder);
  lockFolder(folder)();
});

test.runIf(process.platform === 'linux')(
  'the lock of a process that ended and was not reaped does not count',
  async () => {
    // The shell becomes sleep, which never asks how its child ended; only then may the child end.
    const shell = spawn('sh', ['-c', 'cat <&3 >/dev/null & echo $!; exec sleep 60 3<&-'], {
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    const until = async (condition: () => boolean) => {
      while (!condition()) await new Promise((resolve) => setImmediate(resolve));
    };
    try {
      const pid = (await once(shell.stdout as Readable, 'data')).toString().trim();
      const stat = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      await until(() => readFileSync(`/proc/${shell.pid}/cmdline`, 'utf8').startsWith('sleep'));
      (shell.stdio[3] as Writable).end();
      await until(() => stat()[0] === 'Z');
      writeFileSync(join(folder, 'lock'), `${pid} ${stat()[19]}`);
      lockFolder(folder)();
    } finally {
      shell.kill('SIGKILL');
    }
  },
);

test('a restarted process with the same process id takes the folder', () => {
  lockFolder(folder);
  lockFolder(folder)();
});
