/** `svcnet trace` on the command line. */
import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext } from '../context.ts';
import type { TraceFlags } from '../trace.ts';
import { whole } from './values.ts';

const CHUNKS_MAX = 10_000;

type Work = (flags: TraceFlags, context: CommandContext) => Promise<number | void>;

export function addTrace(
  about: (name: string, description: string) => Command,
  run: (flags: TraceFlags, work: Work) => Promise<void>,
): void {
  about('trace', 'show where a chunk lies and which way it took')
    .argument('<reference>', 'address of a chunk, or reference of content: 64 or 128 hex digits', reference)
    .option(
      '--chunks <count>',
      'chunks of the content whose way is shown (default: 1, the root)',
      whole(1, CHUNKS_MAX),
      1,
    )
    .addHelpText(
      'after',
      `
Every node is asked whether it holds the chunk; nodes of ours also tell its way when they keep chunk events:
  svcnet up --trace
  svcnet trace REFERENCE
Exits with 1 when a chunk is held by no node.`,
    )
    .action((given: string, flags: TraceFlags) =>
      run(flags, async (f, c) => (await import('../trace.ts')).trace(given, f, c)),
    );
}

function reference(text: string): string {
  if (/^(?:[0-9a-fA-F]{64}){1,2}$/.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('Expected 64 hex digits, or 128 with the key of encrypted content.');
}
