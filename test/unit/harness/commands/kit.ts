import type { Command } from 'commander';
import { commandLine } from '../../../../harness/commands/command-line.ts';
import type { CommandContext } from '../../../../harness/commands/context.ts';

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
    outBytes: (bytes) => void parts.push(Buffer.from(bytes).toString('latin1')),
    note: () => undefined,
    printed: () => parts.join(''),
  };
}

/** @throws CommanderError when the line is refused */
export async function flagsOf(...line: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  let seen: Readonly<Record<string, unknown>> = {};
  const program = await commandLine((flags) => {
    seen = { ...flags };
    return Promise.resolve();
  }, line);
  throwInsteadOfExit(program);
  await program.parseAsync(line, { from: 'user' });
  return seen;
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  for (const nested of command.commands) throwInsteadOfExit(nested);
}
