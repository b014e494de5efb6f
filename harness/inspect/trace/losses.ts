import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import type { ConsoleStyle } from '../../report/console.ts';
import { LOSSES_FILE } from '../../report/folder.ts';
import type { Loss } from '../../report/result.ts';
import { diagnose, diagnosisLines } from './diagnosis.ts';
import { traceChunk } from './document.ts';
import { chunkText } from './text.ts';
import type { TracedNode } from './witnesses.ts';

const CHUNKS_TRACED = 3;
/** The file has all. */
const CHUNKS_SHOWN = 50;
const PLAIN: ConsoleStyle = { width: 120, colour: false, live: false };

/**
 * Explains missing chunks, also in the run's folder.
 * @param context.began the cluster, ms since the epoch
 * @returns causes with counts, the first chunks, some routes
 */
export async function explainLosses(
  losses: readonly Loss[],
  nodes: readonly TracedNode[],
  {
    folder,
    began,
    signal,
  }: { readonly folder: string; readonly began: number; readonly signal: AbortSignal },
): Promise<string[]> {
  const diagnoses = await diagnose(losses, nodes, signal);
  await appendFile(join(folder, LOSSES_FILE), diagnoses.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const chunks = losses.map(({ chunk }) => chunk);
  return [
    ...diagnosisLines(diagnoses, CHUNKS_SHOWN),
    ...(await waysOfLost(chunks, nodes, { began, signal })),
  ];
}

/** Routes of lost or misplaced chunks. @param chunks 64 hex digits each @returns none without events */
export async function waysOfLost(
  chunks: readonly string[],
  nodes: readonly TracedNode[],
  { began, signal }: { readonly began: number; readonly signal: AbortSignal },
): Promise<string[]> {
  const lines: string[] = [];
  for (const chunk of chunks.slice(0, CHUNKS_TRACED)) {
    try {
      const traced = await traceChunk(chunk, nodes, signal);
      if (Object.values(traced.route).some((told) => told.length > 0)) {
        lines.push('', ...chunkText(traced, began, { style: PLAIN, width: PLAIN.width }));
      }
    } catch (error) {
      if (signal.aborted) throw error;
      lines.push('', `  the route of ${chunk} is not known: ${messageOf(error)}`);
    }
  }
  return lines;
}
