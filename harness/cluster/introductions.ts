/**
 * Nodes that know no bootnodes are connected over their API. One link each is enough: gossip makes the others, and a
 * second connect while gossip is at work would only meet a connection that exists.
 */

import { messageOf } from '../base/errors.ts';
import type { Seen } from '../base/wait.ts';
import { FLAVOURS } from '../flavours/table.ts';
import type { ClusterNode } from './cluster-node.ts';

/** Whether two nodes of the cluster are able to speak with each other: programs of one flavour may be too far apart. */
export function understand(one: ClusterNode, other: ClusterNode): boolean {
  return one.flavour !== other.flavour || one.binary === other.binary;
}

/** Full nodes that run and that the node can speak with; those that have bootnodes of their own come first. */
export function introducers(node: ClusterNode, others: readonly ClusterNode[]): ClusterNode[] {
  const own = ({ flavour }: ClusterNode) => Number(FLAVOURS[flavour].bootstraps);
  return others
    .filter((other) => other !== node && other.running && other.mode === 'full' && understand(node, other))
    .toSorted((a, b) => own(b) - own(a));
}

/** Gives the node a first peer, unless it has one, finds peers by itself, or there is nobody. */
export async function introduce(
  node: ClusterNode,
  others: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<Seen<true>> {
  const candidates = introducers(node, others);
  if (findsPeers(node, others) || candidates.length === 0) return { done: true };
  const refusals: string[] = [];
  for (const candidate of candidates) {
    if (await hasFullPeer(node, signal)) return { done: true };
    try {
      await node.client.connect(candidate.p2p, signal);
      return { done: true };
    } catch (error) {
      if (signal.aborted) throw error;
      refusals.push(messageOf(error));
    }
  }
  return { missing: `${node.name} could be introduced to nobody: ${refusals[0]}` };
}

/** It knows bootnodes, or others that do will come; nobody comes to a light node. */
function findsPeers(node: ClusterNode, others: readonly ClusterNode[]): boolean {
  const bootstraps = ({ flavour }: ClusterNode) => FLAVOURS[flavour].bootstraps;
  if (node.mode !== 'light') return bootstraps(node);
  return bootstraps(node) && others.some((other) => other.mode !== 'light' && bootstraps(other));
}

async function hasFullPeer(node: ClusterNode, signal: AbortSignal): Promise<boolean> {
  return (await node.client.peers(signal)).some(({ fullNode }) => fullNode);
}
