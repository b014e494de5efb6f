import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { extract } from 'tar-stream';
import { expect, test } from 'vitest';
import {
  buildContext,
  canBuild,
  type Dependencies,
  dependenciesFor,
  sourcesHash,
} from '../../../../../harness/places/docker/sources.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const root = temporaryFolder('svcnet-sources');

function write(path: string, content = path): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const packages = {
  '': { dependencies: { lmdb: '1', lmdbx: '1', '@scope/kept': '1', '@types/node': '1', absent: '1' } },
  'node_modules/lmdb': { dependencies: { inner: '1' } },
  'node_modules/lmdb/node_modules/inner': {},
  'node_modules/lmdbx': {},
  'node_modules/@scope/kept': {},
  'node_modules/@types/node': {},
  'node_modules/vitest': { dev: true },
  'node_modules/absent': { optional: true },
};
write('package.json', '{}');
write('package-lock.json', JSON.stringify({ packages }));
for (const path of ['node/Dockerfile', 'node/main.ts', 'chain/main.ts', 'harness/cli.ts', 'scenarios/a.ts'])
  write(path);
for (const path of ['README.md', 'test/a.test.ts', '.git/HEAD']) write(path);
for (const name of ['lmdb', 'lmdb/node_modules/inner', 'lmdbx', '@scope/kept', '@types/node', 'vitest'])
  write(`node_modules/${name}/index.js`);
for (const path of ['index.d.ts', 'test/index.js', 'prebuilds/win32-x64/lmdb.node'])
  write(`node_modules/lmdb/${path}`);
mkdirSync(join(root, 'node_modules/lmdb/node_modules/.bin'));
symlinkSync('../inner/index.js', join(root, 'node_modules/lmdb/node_modules/.bin/inner'));

const SOURCES = [
  'chain/main.ts',
  'harness/cli.ts',
  'node/Dockerfile',
  'node/main.ts',
  'package-lock.json',
  'package.json',
  'scenarios/a.ts',
];

async function sent(dependencies: Dependencies) {
  const headers: { readonly name: string; readonly type?: string | null; readonly mode?: number }[] = [];
  for await (const entry of buildContext(dependencies, root).pipe(extract())) {
    headers.push(entry.header);
    entry.resume();
  }
  return headers;
}

/** Of files. */
async function namesIn(dependencies: Dependencies): Promise<string[]> {
  const headers = await sent(dependencies);
  return headers.flatMap(({ name, type }) => (type === 'file' ? [name] : [])).toSorted();
}

test('each folder is sent once, before what it holds, with its own mode', async () => {
  const headers = await sent('copied');
  const names = headers.map(({ name }) => name.replace(/\/$/, ''));
  expect(new Set(names).size).toBe(names.length);
  for (const [at, name] of names.entries())
    if (name.includes('/')) expect(names.slice(0, at)).toContain(dirname(name));
  const folder = headers.find(({ name }) => name.replace(/\/$/, '') === 'node_modules/@scope');
  expect(folder).toMatchObject({
    type: 'directory',
    mode: statSync(join(root, 'node_modules/@scope')).mode & 0o7777,
  });
});

test('a build that installs packages is sent only the sources', async () => {
  expect(await namesIn('install')).toEqual(SOURCES);
});

test('a build that copies packages is also sent what the image keeps of them, each file once and without links', async () => {
  expect(await namesIn('copied')).toEqual(
    [
      ...SOURCES,
      'node_modules/@scope/kept/index.js',
      'node_modules/lmdb/index.js',
      'node_modules/lmdb/node_modules/inner/index.js',
      'node_modules/lmdbx/index.js',
    ].toSorted(),
  );
});

test('the hash changes with a source file, but not with files that the image does not contain', () => {
  const before = sourcesHash(root);
  write('test/a.test.ts', 'another');
  write('node_modules/lmdb/index.js', 'another');
  expect(sourcesHash(root)).toBe(before);
  write('node/main.ts', 'another');
  const after = sourcesHash(root);
  expect(after).not.toBe(before);
  write('node/main.ts');
  expect(sourcesHash(root)).toBe(before);
});

test('a package without a Dockerfile cannot be built from', () => {
  expect([canBuild(root), canBuild(join(root, 'node'))]).toEqual([true, false]);
});

test('packages for other systems are not copied', () => {
  expect(dependenciesFor({ os: 'linux', arch: 's390x' }, root)).toBe('install');
  expect(dependenciesFor({ os: 'windows', arch: 'amd64' }, root)).toBe('install');
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  expect(dependenciesFor({ os: 'linux', arch }, join(root, 'node'))).toBe('install');
});
