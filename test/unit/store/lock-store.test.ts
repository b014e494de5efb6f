import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { lockFolder } from '../../../node/store/lock-store.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } = fs;

/** Follows every call by the lock; its result takes the place of the call's. */
const between = { calls: (_name: string, _file: unknown): unknown => undefined };
const unwatched = Object.entries(fs).filter(
  ([name, call]) => name.endsWith('Sync') && typeof call === 'function',
);
beforeAll(() => {
  for (const [name, call] of unwatched) {
    const watched = (...args: unknown[]): unknown => {
      const result: unknown = Reflect.apply(call as () => unknown, fs, args);
      return between.calls(name, args[0]) ?? result;
    };
    Object.assign(fs, { [name]: watched });
  }
  syncBuiltinESMExports();
});
afterAll(() => {
  Object.assign(fs, Object.fromEntries(unwatched));
  syncBuiltinESMExports();
});

let folder: string;
beforeEach(() => void (folder = temporaryFolder('svc-lock')));
afterEach(() => (between.calls = () => undefined));

test('a folder is free again when its lock is released', () => {
  const unlock = lockFolder(folder);
  expect(existsSync(join(folder, 'lock'))).toBe(true);
  unlock();
  lockFolder(folder)();
  expect(existsSync(join(folder, 'lock'))).toBe(false);
});

test('the folder of a running process is refused, naming its process id', () => {
  // It is alive, and is not this process.
  writeFileSync(join(folder, 'lock'), `${process.ppid} `);
  expect(() => lockFolder(folder)).toThrow(
    expect.objectContaining({
      code: 'DATA_DIR_IN_USE',
      message: `${folder} is used by process ${process.ppid}: two nodes cannot share a data folder`,
    }),
  );
});

test('a lock is never seen without its holder, and nothing is left of how it was made', () => {
  const seen: string[] = [];
  const look = () => {
    between.calls = () => undefined;
    const file = join(folder, 'lock');
    if (existsSync(file)) seen.push(readFileSync(file, 'utf8'));
    between.calls = look;
  };
  look();
  const unlock = lockFolder(folder);
  between.calls = () => undefined;
  expect(new Set(seen)).toEqual(new Set([expect.stringMatching(/^\d+ \d*$/)]));
  expect(readdirSync(folder)).toEqual(['lock']);
  unlock();
});

test('a start that comes between the look at a stale lock and its removal keeps the folder', () => {
  const file = join(folder, 'lock');
  const other = `${process.ppid} `;
  writeFileSync(file, '4194305 1');
  between.calls = (name, read) => {
    if (name !== 'readFileSync' || read !== file) return;
    between.calls = () => undefined;
    writeFileSync(file, other);
  };
  expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: 'DATA_DIR_IN_USE' }));
  expect(readFileSync(file, 'utf8')).toBe(other);
});

/** After having done its work, except for what is undone. */
function failing(call: string, code: string, undo = (): void => undefined): void {
  between.calls = (name) => {
    if (name !== call) return;
    between.calls = () => undefined;
    undo();
    throw Object.assign(new Error(`${call} failed`), { code });
  };
}

test('a disk that is full when the lock is written keeps nothing of it', () => {
  failing('writeFileSync', 'ENOSPC');
  expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: 'ENOSPC' }));
  expect(readdirSync(folder)).toEqual([]);
});

test('a folder is locked without a hard link, whatever the file system answers to that', () => {
  failing('linkSync', 'EINVAL', () => rmSync(join(folder, 'lock')));
  lockFolder(folder);
  expect(readFileSync(join(folder, 'lock'), 'utf8')).toMatch(/^\d+ \d*$/);
  expect(readdirSync(folder)).toEqual(['lock']);
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
    // The shell becomes sleep, which never asks how its child ended.
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

test.each([
  ['of one that ended while its threads still run', 3, 'DATA_DIR_IN_USE'],
  ['of one whose last thread has ended', 1, undefined],
])('a lock %s', (_, threads, code) => {
  writeFileSync(join(folder, 'lock'), `${process.ppid} 77`);
  const stat = [`${process.ppid} (node) Z`, ...Array<number>(16).fill(0), threads, 0, 77].join(' ');
  between.calls = (_name, file) => (file === `/proc/${process.ppid}/stat` ? stat : undefined);
  const locked = () => lockFolder(folder)();
  if (code === undefined) locked();
  else expect(locked).toThrow(expect.objectContaining({ code }));
});

test('a restarted process with the same process id takes the folder', () => {
  lockFolder(folder);
  lockFolder(folder)();
});
