import type { Clock } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { type ProbeResult, until } from '../../base/wait.ts';
import { ClientError } from '../../client/errors.ts';
import { isHonest } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { probeBatches } from '../nodes/conditions.ts';
import { type Acquaintance, introduce } from '../nodes/introductions.ts';
import { probeMesh } from '../nodes/mesh.ts';
import type { BatchRecord } from '../state/state.ts';
import type { StartContext } from './start-context.ts';
import { meshTimeoutFor, timeoutFor } from './start-deadline.ts';

/** Each poll costs every node a ms, and this process as much for all. */
const PAUSE_PER_NODE_MS = 10;
const PAUSE_MS = 100;
/** Nodes that start together have found each other by then. */
const REMIND_MS = 10_000;
const USABLE_BLOCKS_MAX = 20;

type WaitContext = Pick<StartContext, 'clock' | 'definition' | 'signal' | 'timeoutMs' | 'onProgress'>;

export async function awaitMesh(context: WaitContext, nodes: readonly ClusterNode[]): Promise<number> {
  const watch = stopwatch(context.clock);
  let remindAt = REMIND_MS;
  const mesh = await until(
    'the nodes are not meshed',
    async (signal) => {
      const introduced = await introduceAll(nodes, signal);
      const seen = await probeMesh(nodes, signal);
      if (seen.apart !== undefined && watch.total() > remindAt) {
        await remind(seen.apart, signal);
        remindAt = watch.total() + REMIND_MS;
      }
      context.onProgress({
        step: 'mesh',
        done: false,
        detail: `${seen.mesh.links} of ${plural(seen.mesh.expected, 'link')}${seen.lacking === undefined ? '' : `, ${seen.lacking}`}`,
      });
      return 'missing' in introduced ? introduced : seen;
    },
    {
      clock: context.clock,
      timeoutMs: context.timeoutMs ?? meshTimeoutFor(nodes),
      longestPauseMs: pauseFor(nodes.length),
      signal: context.signal,
    },
  );
  const ms = watch.total();
  context.onProgress({
    step: 'mesh',
    done: true,
    detail: `${mesh.links} of ${plural(mesh.expected, 'link')}`,
    ms,
  });
  return ms;
}

/** Others cannot push to Bees that consider themselves unreachable. @throws HarnessError BINARY_INVALID */
export async function checkReachable(
  nodes: readonly Pick<ClusterNode, 'flavour' | 'mode' | 'client'>[],
  signal?: AbortSignal,
): Promise<void> {
  const storers = nodes.filter(({ mode }) => mode === 'full');
  if (storers.length < 2 || storers.some(({ flavour }) => flavour !== 'bee')) return;
  const states = await Promise.all(storers.map(({ client }) => client.status(signal)));
  if (states.some(({ isReachable }) => isReachable)) return;
  throw new HarnessError(
    'BINARY_INVALID',
    'every Bee of this cluster reports that it is not publicly reachable, so none stores what is pushed to it; expected a Bee that treats loopback and private addresses as public',
    { hint: 'docs/guides/real-bees.md says what the program must be like.' },
  );
}

/**
 * After a dial in vain, such as one that crossed the other's, a Bee may not dial again for minutes. Its answer does not
 * matter: its peers are asked for again.
 */
export async function remind(
  { node, other }: { readonly node: Acquaintance; readonly other: Acquaintance },
  signal: AbortSignal,
): Promise<void> {
  if (flavourOf(node).bootstraps) return;
  try {
    await node.client.connect(other.underlay, signal);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
  }
}

/** One at a time: a node that has been introduced may introduce the next. */
async function introduceAll(nodes: readonly ClusterNode[], signal: AbortSignal): Promise<ProbeResult<true>> {
  const honest = nodes.filter(isHonest);
  for (const node of honest) {
    const introduced = await introduce(node, honest, signal);
    if ('missing' in introduced) return introduced;
  }
  return { done: true };
}

export async function awaitBatches(
  context: WaitContext,
  nodes: readonly ClusterNode[],
  batches: readonly BatchRecord[],
): Promise<number> {
  if (batches.length === 0) return 0;
  const watch = stopwatch(context.clock);
  const usable = await until(
    'not every batch is usable',
    async (signal) => {
      const seen = await probeBatches(batches, nodes, signal);
      context.onProgress({
        step: 'postage',
        done: false,
        detail: `${seen.usable} of ${plural(batches.length, 'batch')} usable`,
      });
      return seen;
    },
    {
      clock: context.clock,
      timeoutMs:
        context.timeoutMs ??
        timeoutFor(nodes.length) + USABLE_BLOCKS_MAX * context.definition.chain.blockTime,
      longestPauseMs: pauseFor(nodes.length),
      signal: context.signal,
    },
  );
  const ms = watch.total();
  context.onProgress({ step: 'postage', done: true, detail: `${plural(usable, 'batch')} usable`, ms });
  return ms;
}

function pauseFor(nodes: number): number {
  return Math.max(PAUSE_MS, nodes * PAUSE_PER_NODE_MS);
}

export function stopwatch(clock: Pick<Clock, 'monotonic'>): { lap(): number; total(): number } {
  const startedAt = clock.monotonic();
  let lapAt = startedAt;
  return {
    lap() {
      const now = clock.monotonic();
      const ms = Math.round(now - lapAt);
      lapAt = now;
      return ms;
    },
    total: () => Math.round(clock.monotonic() - startedAt),
  };
}
