/** `svcnet trace`: where a chunk lies, who should have it, and which way it took. */
import { EXIT } from '../base/errors.ts';
import { Cluster } from '../cluster/cluster.ts';
import { trace as traced } from '../trace/document.ts';
import { tracePage } from '../trace/page.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

export interface TraceFlags extends ClusterFlags {
  /** Whose way is shown. */
  readonly chunks: number;
}

/** Chunks looked for between two plain lines. */
const PROGRESS_CHUNKS = 500;

/** @param reference 64 or 128 hex digits, lower case @returns exit code: 1 when a chunk is nowhere */
export async function trace(reference: string, flags: TraceFlags, context: CommandContext): Promise<number> {
  const cluster = await Cluster.attach(flags.name, { stateDir: context.stateDir });
  try {
    const document = await traced({
      name: cluster.name,
      reference,
      nodes: cluster.nodes,
      chunks: flags.chunks,
      signal: context.signal,
      onChunk: (count) => {
        if (count % PROGRESS_CHUNKS === 0) context.note(`  ${count} chunks looked for\n`);
      },
    });
    answer(context, document, tracePage(document, context));
    return document.content.missing.length === 0 ? EXIT.success : EXIT.checkFailed;
  } finally {
    await cluster.detach();
  }
}
