import { expect, test } from 'vitest';
import { flagsOf } from './kit.ts';

const flags = (...args: readonly string[]) => flagsOf('conformance', ...args);

test.each([
  ['http', '--target <url>'],
  ['wire', '--peer <multiaddress>'],
  ['chain', '--rpc <url>'],
])('%s requires a target, except to list its rows', async (kind, option) => {
  await expect(flags(kind)).rejects.toThrow(`required option '${option}' not specified`);
  expect(await flags(kind, '--list')).toMatchObject({ list: true });
});

test('detects the dialect by default, and expects a batch id', async () => {
  const target = ['http', '--target', 'http://127.0.0.1:1633/'];
  expect(await flags(...target)).toEqual({ target: 'http://127.0.0.1:1633', level: 'read' });
  expect(await flags(...target, '--batch', 'AB'.repeat(32))).toMatchObject({ batch: 'ab'.repeat(32) });
  await expect(flags(...target, '--batch', 'abcd')).rejects.toThrow('Expected 64 hex digits');
});
