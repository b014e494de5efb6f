import { HarnessError } from '../base/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { AddInput } from '../cluster/growth/add.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { type ChangeFlags, changing } from './changing.ts';
import type { ClusterFlags as NodeFlags } from './cluster-flags.ts';
import type { ClusterFlags, CommandContext } from './context.ts';
import { flavourGiven } from './flavour-given.ts';

export interface AddFlags extends ChangeFlags, Pick<NodeFlags, 'nodes' | 'beeBinary' | 'dishonest'> {
  readonly flavour?: string;
  readonly mode?: string;
  readonly neighbourhood?: string;
  readonly image?: string;
}

export interface RemoveFlags extends ClusterFlags {
  readonly forGood?: boolean;
}

export async function add(flags: AddFlags, context: CommandContext): Promise<void> {
  const group = await groupOf(flags);
  return changing(flags, context, async (cluster, options) => {
    const nodes = await cluster.add(group, options);
    return { added: nodes.map(({ name }) => name) };
  });
}

export function remove(node: string, flags: RemoveFlags, context: CommandContext): Promise<void> {
  return changing(flags, context, async (cluster) => {
    await cluster.remove(node, flags);
    return { removed: [node] };
  });
}

/** Counts running nodes. Adds new ones only if too few old ones can return. */
export function scale(
  count: number,
  flags: RemoveFlags & ChangeFlags,
  context: CommandContext,
): Promise<void> {
  return changing(flags, context, async (cluster, options) => {
    const running = cluster.nodes.filter(isThere);
    if (count < running.length) return { removed: await shrink(cluster, running.length - count, flags) };
    const missing = count - running.length;
    const back = cluster.nodes.filter(({ state }) => state === 'stopped').slice(0, missing);
    const group = { count: missing - back.length };
    // A cluster that takes no new nodes refuses before anything changes.
    const added = group.count === 0 ? [] : await cluster.add(group, options);
    await Promise.all(back.map((node) => node.start({ signal: context.signal })));
    return { started: back.map(({ name }) => name), added: added.map(({ name }) => name) };
  });
}

/** Highest numbers first; boot nodes and one full node stay. */
async function shrink(cluster: Cluster, count: number, { forGood }: RemoveFlags): Promise<string[]> {
  const running = cluster.nodes.filter(isThere);
  const stays = running.find(({ mode }) => mode === 'full');
  const leaving = running
    .filter((node) => node !== stays && node.mode !== 'boot')
    .toReversed()
    .slice(0, count);
  if (leaving.length < count) {
    const least = running.length - leaving.length;
    throw new HarnessError(
      'USAGE',
      `scale: got ${running.length - count}, expected at least ${least}: boot nodes and one full node stay`,
      { hint: 'Remove the whole cluster with: svcnet down' },
    );
  }
  for (const { name } of leaving) await cluster.remove(name, { forGood });
  return leaving.map(({ name }) => name);
}

function isThere({ state }: ClusterNode): boolean {
  return state === 'running' || state === 'paused';
}

async function groupOf(flags: AddFlags): Promise<AddInput> {
  const { nodes, flavour, mode, neighbourhood, beeBinary, image, dishonest } = flags;
  const program = await flavourGiven(flavour, beeBinary);
  const given = {
    count: nodes,
    flavour: program.flavour ?? (dishonest === undefined ? undefined : 'dishonest'),
    mode,
    neighbourhoods: neighbourhood,
    binary: program.binary,
    image,
    dishonest,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
