/** Nodes die without warning, freeze, lose their power or most of their memory. */
import { z } from 'zod';
import { plural } from '../../../base/format.ts';
import type { NodeState } from '../../nodes/node-run.ts';
import type { FaultContext, FaultKind } from '../fault.ts';
import { NODE_FIELD, nodeName, size } from '../fields.ts';
import { type OneNode, oneNode, whole } from './fields.ts';
import { isUp, START, startAgain } from './restarts.ts';

const TORN_MAX = 100;
const powerCut = z.strictObject({ node: nodeName, torn: whole(0, TORN_MAX, 'chunks').default(0) });
const memory = z.strictObject({ node: nodeName, limit: size });

export const KILL: FaultKind<OneNode> = {
  name: 'kill',
  layer: 'machine',
  about: 'kill a node without warning; it starts again on its data when healed',
  capability: 'kill',
  schema: oneNode,
  startsNodes: true,
  text: ({ node }) => `kills ${node}`,
  targets: ({ node }) => [node],
  async begin(context, { node }, { hold }) {
    if (await isUp(context.node(node))) hold({ node, seen: 1 });
    await context.node(node).kill();
    return { node, seen: await isInState(context, node, 'killed') };
  },
  effect: (_context, { seen }) => Promise.resolve({ 'nodes killed': Number(seen) }),
  async end(context, { node }) {
    // A node restarted by others stays as it is.
    if ((await isInState(context, String(node), 'killed')) === 1)
      await context.node(String(node)).start(START);
  },
};

export const PAUSE: FaultKind<OneNode> = {
  name: 'pause',
  layer: 'machine',
  about: 'freeze a node: its connections stay open and nothing answers, until it is healed',
  capability: 'pause',
  schema: oneNode,
  text: ({ node }) => `pauses ${node}`,
  targets: ({ node }) => [node],
  async begin(context, { node }, { hold }) {
    if ((await context.node(node).observe()).state === 'running') hold({ node, seen: 1 });
    await context.node(node).pause();
    return { node, seen: await isInState(context, node, 'paused') };
  },
  effect: (_context, { seen }) => Promise.resolve({ 'nodes paused': Number(seen) }),
  async end(context, { node }) {
    if ((await isInState(context, String(node), 'paused')) === 1) await context.node(String(node)).resume();
  },
};

async function isInState(context: FaultContext, node: string, expected: NodeState): Promise<0 | 1> {
  const { state } = await context.node(node).observe();
  return state === expected ? 1 : 0;
}

/** A simulated node loses what its disk has not synced, unlike after a kill. */
export const POWER_CUT: FaultKind<z.infer<typeof powerCut>> = {
  name: 'power-cut',
  layer: 'power',
  about:
    'cut the power of a simulated node: its disk loses all or part of what it has not synced; the node starts again on the rest when healed',
  capability: 'power',
  schema: powerCut,
  fields: [
    NODE_FIELD,
    {
      field: 'torn',
      flag: '--torn <count>',
      about:
        'chunks that the disk had confirmed, and other nodes as close have, whose bytes are torn all the same (default: 0)',
    },
  ],
  startsNodes: true,
  text: ({ node, torn }) =>
    `cuts the power of ${node}${torn === 0 ? '' : ` and tears ${plural(torn, 'confirmed chunk')}`}`,
  targets: ({ node }) => [node],
  async begin(context, { node, torn }, { hold }) {
    if (await isUp(context.node(node))) hold({ node, 'power cuts': 1 });
    const lost = await context.node(node).cutPower(torn);
    return { node, 'power cuts': 1, ...lost };
  },
  effect: (_context, { node: _node, ...counts }) =>
    Promise.resolve(Object.fromEntries(Object.entries(counts).map(([what, count]) => [what, Number(count)]))),
  end: (context, { node }) => startAgain(context, String(node)),
};

export const MEMORY: FaultKind<z.infer<typeof memory>> = {
  name: 'memory',
  layer: 'memory',
  about:
    'limit the memory of a node in a container; the engine kills a node that exceeds it, and it starts again on its data when healed',
  capability: 'memory',
  schema: memory,
  fields: [NODE_FIELD, { field: 'limit', flag: '<limit>', about: 'memory that is left, such as 128MiB' }],
  text: ({ node, limit }) => `limits the memory of ${node} to ${limit} bytes`,
  targets: ({ node }) => [node],
  // Healing one of two would end the other's limit.
  sets: ({ node }) => `the memory of ${node}`,
  startsNodes: true,
  async begin(context, { node, limit }) {
    const before = await context.node(node).limitMemory(limit);
    return { node, before, limited: Number(before !== limit) };
  },
  async effect(context, { node, limited }) {
    const { state, exit } = await context.node(String(node)).observe();
    return {
      'limits changed': Number(limited),
      'nodes ended for want of memory': Number(state === 'crashed' && exit?.outOfMemory === true),
    };
  },
  async end(context, { node, before }) {
    const limited = context.node(String(node));
    // First: the container keeps its limit for the next start.
    await limited.limitMemory(Number(before));
    if ((await limited.observe()).state === 'crashed') await limited.start(START);
  },
};
