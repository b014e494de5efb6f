import { EXIT } from '../base/errors.ts';
import { trace as traced } from '../inspect/trace/document.ts';
import { traceText } from '../inspect/trace/text.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

export interface TraceFlags extends ClusterFlags {
  /** Number of chunks whose route is shown. */
  readonly chunks: number;
}

/** Chunks between two progress lines. */
const PROGRESS_CHUNKS = 500;

/** @param reference 64 or 128 lower-case hex digits @returns exit code: 1 when no node stores a chunk */
export async function trace(reference: string, flags: TraceFlags, context: CommandContext): Promise<number> {
  return onCluster(flags, context, async (cluster) => {
    const { signal } = context;
    const document = await traced({
      name: cluster.name,
      reference,
      nodes: cluster.nodes,
      chunks: flags.chunks,
      messages: cluster.capabilities.has('tap') ? cluster.tap({ kept: true, signal }) : undefined,
      signal,
      onChunk: (count) => {
        if (count % PROGRESS_CHUNKS === 0) context.note(`  ${count} chunks checked\n`);
      },
    });
    answer(context, document, traceText(document, context));
    return document.content.missing.length === 0 ? EXIT.success : EXIT.checkFailed;
  });
}
