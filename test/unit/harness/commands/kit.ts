/** Input of commands in tests, what they have printed, and the flags that they get for a command line. */
import { Command } from 'commander';
import type { CommandContext } from '../../../../harness/commands/context.ts';
import type { RunCommand } from '../../../../harness/commands/options/values.ts';

export function contextOf(
  stateDir: string,
  json = false,
): CommandContext & { readonly printed: () => string } {
  const parts: string[] = [];
  return {
    stateDir,
    json,
    style: { width: 100, colour: false, live: false },
    width: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    out: (text) => void parts.push(text),
    note: () => undefined,
    printed: () => parts.join(''),
  };
}

/** Flags that the command gets for `line`. @throws CommanderError when the line is refused */
export async function flagsOf(
  add: (program: Command, run: RunCommand) => void,
  ...line: readonly string[]
): Promise<Readonly<Record<string, unknown>>> {
  const program = new Command();
  let seen: Readonly<Record<string, unknown>> = {};
  add(program, (flags) => {
    seen = flags as typeof seen;
    return Promise.resolve();
  });
  throwInsteadOfExit(program);
  await program.parseAsync(line, { from: 'user' });
  return seen;
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  for (const nested of command.commands) throwInsteadOfExit(nested);
}
