import type { Clock } from '../../../formats/clock.ts';
import { ClientError } from '../../client/errors.ts';
import type { ClusterNode } from './cluster-node.ts';

/** Production nodes look at the chain every few seconds. */
const WAIT_MS = 15_000;
const PAUSE_MS = 25;
/** A node that saw the head and reads no further for so long leaves more blocks unread than others. */
const SETTLED_MS = 2000;

/**
 * Does not wait for nodes that are stopped, frozen, without a chain, or silent.
 * @param lag most blocks left unread behind the head
 * @param isCutOff nodes whose endpoint fails on purpose
 * @returns names of those that have not read it within 15 s
 */
export async function awaitBlock(
  nodes: readonly ClusterNode[],
  {
    height,
    lag,
    isCutOff,
    clock,
  }: { height: number; lag: number; isCutOff: (node: string) => boolean; clock: Clock },
): Promise<readonly string[]> {
  using deadline = clock.deadline(WAIT_MS);
  const behind = await Promise.all(
    nodes.map(async (node) => {
      const reading = { block: -1, since: clock.monotonic() };
      while (node.running && !isCutOff(node.name)) {
        if (deadline.signal.aborted) return [node.name];
        const seen = await positionOf(node, deadline.signal);
        if (seen === undefined || seen.block >= height - lag) return [];
        if (seen.block !== reading.block)
          Object.assign(reading, { block: seen.block, since: clock.monotonic() });
        if (seen.chainTip >= height && clock.monotonic() - reading.since >= SETTLED_MS) return [];
        await clock.sleep(PAUSE_MS);
      }
      return [];
    }),
  );
  return behind.flat();
}

async function positionOf(
  node: ClusterNode,
  signal: AbortSignal,
): Promise<{ readonly block: number; readonly chainTip: number } | undefined> {
  try {
    return await node.client.chainState(signal);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    return signal.aborted ? { block: -1, chainTip: -1 } : undefined;
  }
}
