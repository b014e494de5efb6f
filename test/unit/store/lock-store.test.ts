import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockFolder } from '../../../node/store/lock-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a folder is free again when its lock is given back', () => {
  const unlock = lockFolder(folder);
  expect(existsSync(join(folder, 'lock'))).toBe(true);
  unlock();
  lockFolder(folder)();
  expect(existsSync(join(folder, 'lock'))).toBe(false);
});

test('a folder of a living process is refused with its id', () => {
  // The parent of this test process is alive and is not this process.
  writeFileSync(join(folder, 'lock'), `${process.ppid} `);
  expect(() => lockFolder(folder)).toThrow(
    expect.objectContaining({
      code: 'DATA_DIR_IN_USE',
      message: `${folder} is used by process ${process.ppid}: two nodes can not share a data folder`,
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

test('a restart that got the same process id takes the folder', () => {
  lockFolder(folder);
  lockFolder(folder)();
});
