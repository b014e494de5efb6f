import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { isHonest } from '../flavours/flavour.ts';

/** Not boot or dishonest nodes; they upload and buy. At least one. */
export function workingNodes({ nodes }: Cluster): readonly ClusterNode[] {
  return nodes.filter((node) => node.mode !== 'boot' && isHonest(node));
}
