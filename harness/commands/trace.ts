import { EXIT, HarnessError } from '../base/errors.ts';
import { trace as traced } from '../inspect/trace/document.ts';
import { recordedTrace } from '../inspect/trace/recorded.ts';
import { recordedText, traceText } from '../inspect/trace/text.ts';
import { recordsOf } from '../report/read-run.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

export interface TraceFlags extends ClusterFlags {
  readonly chunks: number;
  /** Instead of a cluster. */
  readonly run?: string;
}

const PROGRESS_CHUNKS = 500;

/**
 * @param reference 64 or 128 lower-case hex digits
 * @returns 1: no node stores a chunk, or no message of the record is about it
 */
export async function trace(reference: string, flags: TraceFlags, context: CommandContext): Promise<number> {
  const { run } = flags;
  if (run !== undefined) return await fromRecord(run, reference, flags, context);
  return onCluster(flags, context, async (cluster) => {
    const { signal } = context;
    const document = await traced({
      name: cluster.name,
      began: cluster.startedAt,
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

async function fromRecord(
  run: string,
  reference: string,
  { name, chunks }: TraceFlags,
  context: CommandContext,
): Promise<number> {
  if (name !== undefined || chunks > 1) {
    const other = name === undefined ? '--chunks' : '--name';
    throw new HarnessError('USAGE', `--run and ${other} exclude each other`, {
      hint: 'A record tells the route of one chunk, and not which chunks are below it: pass the address of each.',
    });
  }
  const { stateDir, signal } = context;
  const document = await recordedTrace(run, reference, { records: recordsOf(run, stateDir), signal });
  answer(context, document, recordedText(document, context));
  return document.clusters.length === 0 ? EXIT.checkFailed : EXIT.success;
}
