/** `svcnet trace` on the command line. */
import { InvalidArgumentError } from 'commander';
import type { TraceFlags } from '../trace.ts';
import { type ClusterCommand, type RunCommand, whole } from './values.ts';

const CHUNKS_MAX = 10_000;

export function addTrace(about: ClusterCommand, run: RunCommand): void {
  about('trace', 'show which nodes store a chunk and the route it took')
    .argument('<reference>', 'address of a chunk, or reference of content: 64 or 128 hex digits', reference)
    .option(
      '--chunks <count>',
      'number of chunks whose route is shown, from the root on',
      whole(1, CHUNKS_MAX),
      1,
    )
    .addHelpText(
      'after',
      `
Every node is asked whether it stores the chunk; svc nodes also report its route if they record chunk events:
  svcnet up --trace
  svcnet trace REFERENCE
Exits with 1 when no node stores a chunk.`,
    )
    .action((given: string, flags: TraceFlags) =>
      run(flags, async (f, c) => (await import('../trace.ts')).trace(given, f, c)),
    );
}

function reference(text: string): string {
  if (/^(?:[0-9a-fA-F]{64}){1,2}$/.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('Expected 64 hex digits, or 128 with the key of encrypted content.');
}
