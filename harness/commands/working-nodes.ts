import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';

/** Those that upload and buy: all but the boot nodes, which only introduce the others. A cluster has at least one. */
export function workingNodes({ nodes }: Cluster): readonly ClusterNode[] {
  return nodes.filter(({ mode }) => mode !== 'boot');
}
