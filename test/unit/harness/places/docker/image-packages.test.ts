import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isLeftOut, neededPackages } from '../../../../../harness/places/docker/image-packages.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const ROOT = new URL('../../../../../', import.meta.url);
const LOCK = JSON.parse(readFileSync(new URL('package-lock.json', ROOT), 'utf8')) as Parameters<
  typeof neededPackages
>[0];

test('the packages needed are those that dependencies reach, each resolved from the nearest place', () => {
  const needed = neededPackages({
    packages: {
      '': { dependencies: { a: '1' } },
      'node_modules/a': { dependencies: { b: '2' }, optionalDependencies: { 'not-installed': '1' } },
      'node_modules/a/node_modules/b': { dependencies: { c: '1', 'bare-fs': '1' } },
      'node_modules/b': {},
      'node_modules/c': {},
      'node_modules/bare-fs': {},
      'node_modules/of-development': {},
    },
  });
  expect([...needed].sort()).toEqual(['node_modules/a', 'node_modules/a/node_modules/b', 'node_modules/c']);
});

test('the image needs all packages used at runtime, none for development', () => {
  const needed = neededPackages(LOCK);
  for (const name of ['lmdb', '@foundry-rs/anvil', 'secp256k1', 'zod', 'commander', 'yaml', 'ws'])
    expect(needed).toContain(`node_modules/${name}`);
  for (const name of [
    '@nomicfoundation/edr',
    'dockerode',
    '@grpc/grpc-js',
    'protobufjs',
    'testcontainers',
    'vitest',
    'typescript',
  ])
    expect(needed).not.toContain(`node_modules/${name}`);
});

test('what a build by hand is not sent, the image does not need', () => {
  const ignored = readFileSync(new URL('.dockerignore', ROOT), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('node_modules/'));
  expect(ignored.length).toBeGreaterThan(20);
  const needed = [...neededPackages(LOCK)];
  const missing = needed.filter((path) =>
    ignored.some((glob) => matchesGlob(path, glob) || matchesGlob(path, `${glob}/**`)),
  );
  expect(missing).toEqual([]);
});

test('nothing is left of packages and files that are removed: the layer is that of a build that never had them', () => {
  const root = temporaryFolder('svcnet-image-packages');
  const packages = {
    '': { dependencies: { a: '1' } },
    'node_modules/a': {},
    'node_modules/@scope/of-development': {},
  };
  const write = (path: string, text = '') => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('package-lock.json', JSON.stringify({ packages }));
  for (const path of [
    'a/index.js',
    'a/readme.md',
    'a/types/of/index.d.ts',
    '@scope/of-development/index.js',
    '.bin/tool',
    '.package-lock.json',
  ])
    write(`node_modules/${path}`);
  execFileSync(process.execPath, [
    fileURLToPath(new URL('harness/places/docker/image-packages.ts', ROOT)),
    root,
  ]);
  expect(readdirSync(join(root, 'node_modules'), { recursive: true, encoding: 'utf8' }).toSorted()).toEqual([
    'a',
    'a/index.js',
  ]);
});

test.each([
  ['zod/v4/core/core.js', false],
  ['zod/src', true],
  ['zod/index.d.ts', true],
  ['pino/LICENSE', false],
  ['esbuild/LICENSE.md', false],
  ['esbuild/README.md', true],
  ['pino/lib/time.js', false],
  ['pino/test', true],
  ['pino/node_modules/.bin', true],
  ['yaml/dist/doc', false],
  ['lmdb/src', true],
  ['secp256k1/lib', false],
  ['secp256k1/prebuilds/linux-x64', false],
  ['secp256k1/prebuilds/darwin-arm64', true],
  ['@lmdb/lmdb-linux-x64/node.napi.glibc.node', false],
  ['@lmdb/lmdb-linux-x64/node.napi.musl.node', true],
  ['@lmdb/lmdb-linux-x64/node.abi115.glibc.node', true],
])('%s is left out: %s', (path, out) => {
  expect(isLeftOut(path)).toBe(out);
});
