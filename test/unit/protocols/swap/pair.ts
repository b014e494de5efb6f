import type { Peer } from '../../../../node/p2p/host.ts';
import { meet, type SwapNode, swapNode, type World, world } from './swap-nodes.ts';

export async function pair(): Promise<World & { a: SwapNode; b: SwapNode; peer: Peer }> {
  const parts = world();
  const a = await swapNode(1, parts);
  const b = await swapNode(2, parts);
  const peer = await meet(a, b, parts.clock);
  return { ...parts, a, b, peer };
}

export const sums = (node: SwapNode) => node.credited.map(({ amount }) => amount);
