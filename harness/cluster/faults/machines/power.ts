/**
 * Power cuts of simulated nodes: what a disk has not synced is lost. A process that is merely killed loses none of
 * it.
 */
import type { FaultKind } from '../fault.ts';
import { type OneNode, oneNode } from './fields.ts';
import { isUp, startAgain } from './restarts.ts';

export const POWER_CUT: FaultKind<OneNode> = {
  name: 'power-cut',
  layer: 'power',
  about:
    'cut the power of a simulated node: its disk loses all or part of what it has not synced; the node starts again on the rest when healed',
  capability: 'power',
  schema: oneNode,
  startsNodes: true,
  text: ({ node }) => `cuts the power of ${node}`,
  targets: ({ node }) => [node],
  async begin(context, { node }, { hold }) {
    if (await isUp(context.node(node))) hold({ node, 'power cuts': 1 });
    const lost = await context.node(node).cutPower();
    return { node, 'power cuts': 1, ...lost };
  },
  effect: (_context, { node: _node, ...counts }) =>
    Promise.resolve(Object.fromEntries(Object.entries(counts).map(([what, count]) => [what, Number(count)]))),
  end: (context, { node }) => startAgain(context, String(node)),
};
