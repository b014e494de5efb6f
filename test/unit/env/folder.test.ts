import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { makeFolder } from '../../../node/env/folder.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const SOURCE = pathToFileURL(join(import.meta.dirname, '../../../node/env/folder.ts')).href;

test('a folder is made with those above it, once', () => {
  const folder = join(temporaryFolder('svcnet-folder'), 'a', 'b');
  makeFolder(folder, 0o700);
  makeFolder(folder, 0o700);
  expect(statSync(join(folder, '..')).mode & 0o777).toBe(0o700);
});

test('a folder behind a link is one; a file or a link to nothing is not', () => {
  const root = temporaryFolder('svcnet-folder');
  mkdirSync(join(root, 'real'));
  symlinkSync('real', join(root, 'link'));
  makeFolder(join(root, 'link', 'below'));
  makeFolder(join(root, 'link'));
  writeFileSync(join(root, 'file'), '');
  symlinkSync('nowhere', join(root, 'dangling'));
  expect(() => makeFolder(join(root, 'file'))).toThrow('EEXIST');
  expect(() => makeFolder(join(root, 'file', 'below'))).toThrow('ENOTDIR');
  expect(() => makeFolder(join(root, 'dangling', 'below'))).toThrow('EEXIST');
});

/** A process can be ended when it does not end by itself. */
test('where the system lets nobody make a folder it fails and ends', () => {
  const script = `import { makeFolder } from '${SOURCE}'; makeFolder('/proc/svcnet/a');`;
  const args = ['--input-type=module', '-e', script];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  expect(status).toBe(1);
  expect(stderr).toMatch(/ENOENT|EROFS|EACCES|EPERM/);
});
