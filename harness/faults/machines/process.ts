/** Faults of whole nodes: they die without warning, or freeze. */
import type { NodeState } from '../../nodes/cluster-node.ts';
import type { FaultGround, FaultKind } from '../fault.ts';
import { type OneNode, oneNode } from './fields.ts';
import { isThere } from './restarts.ts';

export const KILL: FaultKind<OneNode> = {
  name: 'kill',
  layer: 'machine',
  about: 'kills a node, as a power cut would; it starts again on its data when healed',
  capability: 'kill',
  schema: oneNode,
  text: ({ node }) => `kills ${node}`,
  targets: ({ node }) => [node],
  async begin(ground, { node }, { hold }) {
    if (await isThere(ground.node(node))) hold({ node, seen: 1 });
    await ground.node(node).kill();
    return { node, seen: await isSeen(ground, node, 'killed') };
  },
  effect: (_ground, { seen }) => Promise.resolve({ 'nodes killed': Number(seen) }),
  async end(ground, { node }) {
    // A node that something else has started again meanwhile stays as it is.
    if ((await isSeen(ground, String(node), 'killed')) === 1) await ground.node(String(node)).start();
  },
};

export const PAUSE: FaultKind<OneNode> = {
  name: 'pause',
  layer: 'machine',
  about: 'freezes a node: its connections stay open and nothing answers, until it is healed',
  capability: 'pause',
  schema: oneNode,
  text: ({ node }) => `pauses ${node}`,
  targets: ({ node }) => [node],
  async begin(ground, { node }, { hold }) {
    if ((await ground.node(node).observe()).state === 'running') hold({ node, seen: 1 });
    await ground.node(node).pause();
    return { node, seen: await isSeen(ground, node, 'paused') };
  },
  effect: (_ground, { seen }) => Promise.resolve({ 'nodes paused': Number(seen) }),
  async end(ground, { node }) {
    if ((await isSeen(ground, String(node), 'paused')) === 1) await ground.node(String(node)).resume();
  },
};

/** @returns 1 when it is in that state, for counters in handles */
async function isSeen(ground: FaultGround, node: string, expected: NodeState): Promise<0 | 1> {
  const { state } = await ground.node(node).observe();
  return state === expected ? 1 : 0;
}
