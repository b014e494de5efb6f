/** Faults of whole nodes: they die without warning, or freeze. */
import type { NodeState } from '../../nodes/node-run.ts';
import type { FaultContext, FaultKind } from '../fault.ts';
import { type OneNode, oneNode } from './fields.ts';
import { isUp, START } from './restarts.ts';

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

/** @returns 1 when the node is in that state, for counters in handles */
async function isInState(context: FaultContext, node: string, expected: NodeState): Promise<0 | 1> {
  const { state } = await context.node(node).observe();
  return state === expected ? 1 : 0;
}
