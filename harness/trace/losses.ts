/** Evidence of lost chunks: the ways that the nodes tell of, where they keep events. */
import { messageOf } from '../base/errors.ts';
import type { ConsoleStyle } from '../report/console.ts';
import { traceChunk } from './document.ts';
import { chunkPage } from './page.ts';
import type { TracedNode } from './witnesses.ts';

/** Losses of one run mostly have one cause. */
const CHUNKS_TRACED = 3;
const PLAIN: ConsoleStyle = { width: 120, colour: false, live: false };

/** @param chunks 64 hex digits each @returns lines; none when no node keeps events of them */
export async function waysOfLost(
  chunks: readonly string[],
  nodes: readonly TracedNode[],
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  for (const chunk of chunks.slice(0, CHUNKS_TRACED)) {
    try {
      const traced = await traceChunk(chunk, nodes, signal);
      if (Object.values(traced.story).some((told) => told.length > 0)) {
        lines.push('', ...chunkPage(traced, { style: PLAIN, width: PLAIN.width }));
      }
    } catch (error) {
      if (signal.aborted) throw error;
      lines.push('', `  the way of ${chunk} cannot be told: ${messageOf(error)}`);
    }
  }
  return lines;
}
