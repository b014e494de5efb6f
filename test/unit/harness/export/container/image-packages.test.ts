import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isLeftOut, neededPackages } from '../../../../../harness/export/container/image-packages.ts';

const LOCK = JSON.parse(
  readFileSync(new URL('../../../../../package-lock.json', import.meta.url), 'utf8'),
) as Parameters<typeof neededPackages>[0];

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

test.each([
  ['zod/v4/core/core.js', false],
  ['zod/src', true],
  ['zod/index.d.ts', true],
  ['pino/LICENSE', false],
  ['pino/lib/time.js', false],
  ['pino/test', true],
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
