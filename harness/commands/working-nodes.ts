import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { isHonest } from '../flavours/flavour.ts';

/** Nodes that upload and buy: no boot nodes or dishonest ones. At least one. */
export function workingNodes({ nodes }: Cluster): readonly ClusterNode[] {
  return nodes.filter((node) => node.mode !== 'boot' && isHonest(node));
}

/** The named node, else the first that works. @throws HarnessError `NODE_NOT_FOUND` */
export function workingNode(cluster: Cluster, name?: string): ClusterNode {
  return cluster.node(name ?? workingNodes(cluster)[0]?.name ?? 0);
}
