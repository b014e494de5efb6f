import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addLoad } from '../../../../harness/commands/line/load.ts';

/** Flags of a load as the command line gives them to the command. */
async function flagsOf(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  let seen: Readonly<Record<string, unknown>> = {};
  addLoad(program, (flags) => {
    seen = flags as typeof seen;
    return Promise.resolve();
  });
  for (const command of program.commands) command.exitOverride();
  await program.parseAsync(['load', 'upload', ...args], { from: 'user' });
  return seen;
}

test('a load serves its own metrics on a port, like any run', async () => {
  expect(await flagsOf('--metrics-port', '9464')).toMatchObject({ metricsPort: 9464 });
  expect(await flagsOf()).not.toHaveProperty('metricsPort');
  await expect(flagsOf('--metrics-port', '80')).rejects.toThrow('1024');
});
