/** `svcnet ui` on the command line. */
import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext } from '../context.ts';
import type { UiFlags } from '../ui.ts';

type Run = (
  flags: UiFlags,
  command: (flags: UiFlags, context: CommandContext) => Promise<void>,
) => Promise<void>;

const PORT = { min: 1024, max: 65_535 } as const;

export function addUi(program: Command, run: Run): void {
  program
    .command('ui')
    .description('open a live page on a running cluster: its ring, chunks, figures, balances and logs')
    .option('--name <cluster>', 'name of the cluster; may be left out when there is only one')
    .option('--port <port>', 'port of the page (default: a free one)', portFlag)
    .option('--open', 'open it in the browser')
    .option('--json', 'print one JSON document with the URL and nothing else')
    .addHelpText(
      'after',
      `
The page is served on loopback until Ctrl-C, and its URL has a token: who knows it may look. It only looks and never
changes the cluster. Nothing is asked of the nodes while no page is open. To see single chunks travel, start the nodes
with the option chunk-events, such as 10000.`,
    )
    .action((flags: UiFlags) => run(flags, async (f, c) => (await import('../ui.ts')).ui(f, c)));
}

function portFlag(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= PORT.min && value <= PORT.max) return value;
  throw new InvalidArgumentError(`Expected a whole number from ${PORT.min} to ${PORT.max}.`);
}
