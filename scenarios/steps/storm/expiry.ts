/** It ends during a storm, whatever happens to its chunks' holders. */
import type { ClusterNode } from 'svcnet';
import { batchAmount, buyBatch } from 'svcnet/scenario';
import { freshChunk, storers } from '../presence.ts';
import { inTime, workingNodes } from '../steps.ts';
import type { StormContext } from './parameters.ts';

const DEPTH = 17;
const CHUNKS = 16;
/** To fill it, also where blocks come faster than uploads. */
const BLOCKS_MIN = 30;
/** A purchase mines until every node has read it: at most so many blocks. */
const BLOCKS_TO_BUY = 500;
const MINED_AT_ONCE = 5;
const GONE_WITHIN_MS = 60_000;

export interface ShortBatch {
  /** Stamped with it. */
  readonly chunks: readonly string[];
}

/** Ends in the middle of the storm. @returns undefined where blocks cannot be mined on demand */
export function shortBatch(context: StormContext): Promise<ShortBatch | undefined> {
  return context.step('short batch', async () => {
    const { cluster, parameters, signal } = context;
    const { chain } = cluster;
    if (!chain.controlled || chain.steady) {
      context.unchecked('the end of a batch: blocks are not mined on demand here');
      return undefined;
    }
    const random = context.random('expiry');
    const nodes = workingNodes(cluster.nodes);
    const node = nodes[random.below(nodes.length)] as ClusterNode;
    const ttlMs = Math.max(parameters.duration / 2, BLOCKS_MIN * chain.blockTimeMs);
    const toBuyMs = BLOCKS_TO_BUY * chain.blockTimeMs;
    const amount = batchAmount(ttlMs + toBuyMs, await chain.batchTerms());
    const before = await chain.height();
    const batch = await buyBatch(cluster, node, { amount, depth: DEPTH, label: 'short' }, signal);
    const chunks: string[] = [];
    for (let n = 0; n < CHUNKS; n++) {
      const { data, address } = freshChunk(random);
      await node.chunks.upload(data, { batch, signal });
      chunks.push(address);
    }
    const left = before + BLOCKS_TO_BUY - (await chain.height());
    if (left > 0) await chain.mine(left);
    return { chunks };
  });
}

/** No node keeps what nobody pays for. When others than ours look is unknown. */
export function expired(context: StormContext, { chunks }: ShortBatch): Promise<void> {
  return context.step('expiry', async (progress) => {
    const { cluster } = context;
    const probe = async (signal: AbortSignal) => {
      const nodes = storers(cluster.nodes).filter(({ flavour }) => flavour === 'svc');
      for (const node of nodes) {
        const held = await Promise.all(chunks.map((chunk) => node.holds(chunk, signal)));
        const left = held.filter(Boolean).length;
        if (left === 0) continue;
        await cluster.chain.mine(MINED_AT_ONCE);
        return `${node.name} still has ${left} of ${chunks.length}`;
      }
      return undefined;
    };
    const missing = await inTime('chunks of the expired batch are gone', probe, {
      ...context,
      timeoutMs: GONE_WITHIN_MS,
    });
    context.expect('chunks of an expired batch leave the reserves', missing === undefined, {
      observed: missing ?? `all ${chunks.length} gone everywhere`,
      expected: `gone within ${GONE_WITHIN_MS / 1000} s and its blocks`,
    });
    progress.detail(`${chunks.length} chunks`);
  });
}
