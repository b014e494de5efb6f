import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addConformance } from '../../../../harness/commands/line/conformance.ts';

/** Flags as the command line gives them to the command. */
async function flagsOf(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  let seen: Readonly<Record<string, unknown>> = {};
  addConformance(program, (flags) => {
    seen = flags as typeof seen;
    return Promise.resolve();
  });
  for (const parent of program.commands) for (const command of parent.commands) command.exitOverride();
  await program.parseAsync(['conformance', ...args], { from: 'user' });
  return seen;
}

test.each([
  ['http', '--target <url>'],
  ['wire', '--peer <multiaddress>'],
  ['chain', '--rpc <url>'],
])('%s requires a target, except to list its rows', async (kind, option) => {
  await expect(flagsOf(kind)).rejects.toThrow(`required option '${option}' not specified`);
  expect(await flagsOf(kind, '--list')).toMatchObject({ list: true });
});

test('detects the dialect by default, and expects a batch id', async () => {
  const target = ['http', '--target', 'http://127.0.0.1:1633/'];
  expect(await flagsOf(...target)).toEqual({ target: 'http://127.0.0.1:1633', level: 'read' });
  expect(await flagsOf(...target, '--batch', 'AB'.repeat(32))).toMatchObject({ batch: 'ab'.repeat(32) });
  await expect(flagsOf(...target, '--batch', 'abcd')).rejects.toThrow('Expected 64 hex digits');
});
