/** `svcnet ui` on the command line. */
import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import type { UiFlags } from '../ui.ts';
import { whole } from './values.ts';

type Work = (flags: UiFlags, context: CommandContext) => Promise<void>;

const PORT = { min: 1024, max: 65_535 } as const;

export function addUi(
  about: (name: string, description: string) => Command,
  run: (flags: UiFlags, work: Work) => Promise<void>,
): void {
  about('ui', 'show a running cluster as a live page: ring, chunks, figures, balances, logs')
    .option('--port <port>', 'port of the page (default: a free one)', whole(PORT.min, PORT.max))
    .option('--open', 'open it in the browser')
    .addHelpText(
      'after',
      `
The page is served on loopback until Ctrl-C, and its URL includes a token: anyone who has it may look. It never
changes the cluster. Nothing is asked of the nodes while no page is open. Single chunks are seen when the nodes keep
chunk events:
  svcnet up --trace
  svcnet ui --open`,
    )
    .action((flags: UiFlags) => run(flags, async (f, c) => (await import('../ui.ts')).ui(f, c)));
}
