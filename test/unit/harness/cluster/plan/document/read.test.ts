import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdirSync, openSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { readClusterFile, readDefinitionFile } from '../../../../../../harness/cluster/plan/document/read.ts';
import { temporaryFolder } from '../../../../../temporary-folder.ts';

const home = temporaryFolder('svcnet-document');
const folder = join(home, 'theirs');
const file = join(folder, 'cluster.yaml');
beforeAll(() => {
  mkdirSync(join(folder, 'site'), { recursive: true });
  writeFileSync(join(home, 'secret'), 'of the reader');
  writeFileSync(join(folder, 'page.html'), 'page');
  symlinkSync('page.html', join(folder, 'index.html'));
  symlinkSync(join(home, 'secret'), join(folder, 'link'));
  symlinkSync(home, join(folder, 'up'));
  expect(spawnSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'pipe')]).status).toBe(0);
});

function uploading(path: string) {
  writeFileSync(file, `nodes: 2\nprepare: { height: 5, uploads: [{ node: node-0, path: ${path} }] }\n`);
  return readClusterFile(file);
}

test.each(['page.html', './site', 'index.html', 'site/../page.html'])(
  'a cluster file uploads %s of its folder, wherever it is read from',
  async (path) => {
    expect(await uploading(path)).toEqual({
      nodes: 2,
      prepare: { height: 5, uploads: [{ node: 'node-0', path: join(folder, path) }] },
    });
  },
);

test.each([
  ['../secret', 'expected a path below'],
  [join(home, 'secret'), 'expected a path below'],
  ['link', 'expected a path below'],
  ['up/secret', 'expected a path below'],
  ['..', 'expected a path below'],
  ['pipe', 'expected a regular file or folder'],
  ['absent', "no file or folder 'absent'"],
])('it does not upload %s', async (path, why) => {
  await expect(uploading(path)).rejects.toMatchObject({
    code: 'DEFINITION_INVALID',
    message: expect.stringMatching(
      new RegExp(`^${RegExp.escape(file)}: prepare\\.uploads\\[0\\]\\.path: .*${RegExp.escape(why)}`),
    ) as string,
  });
});

test('what a document is not is left to the check of its keys', async () => {
  for (const text of [
    'prepare:',
    'prepare: 5',
    'prepare: { uploads: 5 }',
    'prepare: { uploads: [5, { path: 5 }] }',
  ]) {
    writeFileSync(file, text);
    expect(await readClusterFile(file)).toEqual(await readDefinitionFile(file));
  }
});

test.each([
  ['UTF-16', Buffer.from('\uFEFFnodes: 2\n', 'utf16le')],
  ['a program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0])],
])('%s is no document', async (_what, bytes) => {
  writeFileSync(file, bytes);
  await expect(readDefinitionFile(file)).rejects.toThrow(
    `${file}: line 1: got bytes of another encoding, expected text in UTF-8`,
  );
});

test.each(['\uFEFFnodes: 2\n', 'nodes: 2\r\n'])(
  'a document may be as editors of other systems write it: %j',
  async (text) => {
    writeFileSync(file, text);
    expect(await readDefinitionFile(file)).toEqual({ nodes: 2 });
  },
);

test('a document has a limit, and is a file or a pipe', async () => {
  const long = join(home, 'long.yaml');
  writeFileSync(long, `# ${'x'.repeat(2 ** 21)}`);
  await expect(readDefinitionFile(long)).rejects.toThrow(`--file: ${long} is longer than 2 MiB`);
  await expect(readDefinitionFile('/dev/zero', '-f')).rejects.toThrow('-f: /dev/zero is not a regular file');
  await expect(readDefinitionFile(home, '-f')).rejects.toThrow(`-f: ${home} is not a regular file`);
  await expect(readDefinitionFile(join(home, 'none'), '-f')).rejects.toThrow('-f: no file');
});

test('a file that cannot be read is named', async () => {
  const path = join(home, 'x'.repeat(300));
  const error = `-f: cannot read ${path}: name too long (ENAMETOOLONG)`;
  await expect(readDefinitionFile(path, '-f')).rejects.toThrow(error);
});

test.each(['', '# cut short\n', '~', '---\n'])(
  'a document that holds nothing is refused: %j',
  async (text) => {
    const file = join(home, 'nothing.yaml');
    writeFileSync(file, text);
    const error = `${file}: got nothing, expected a map of keys to values`;
    await expect(readDefinitionFile(file)).rejects.toThrow(error);
    writeFileSync(file, '{}');
    expect(await readDefinitionFile(file)).toEqual({});
  },
);

test('the document of a pipe is read, and one without end is cut', async () => {
  const pipe = join(folder, 'pipe');
  const open = () => openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = open();
  writeSync(writer, 'nodes: 3');
  const read = readDefinitionFile(pipe);
  closeSync(writer);
  expect(await read).toEqual({ nodes: 3 });
  const silent = open();
  const nothing = readDefinitionFile(pipe);
  closeSync(silent);
  await expect(nothing).rejects.toThrow(`--file: nothing came through the pipe ${pipe}`);
  const holder = open();
  const endless = spawn('sh', ['-c', 'exec cat /dev/zero >"$0"', pipe]);
  const ended = once(endless, 'exit');
  await expect(readDefinitionFile(pipe)).rejects.toThrow('longer than 2 MiB');
  closeSync(holder);
  await ended;
});
