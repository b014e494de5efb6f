import { Cluster } from '../cluster/cluster.ts';
import type { ClusterFlags, CommandContext } from './context.ts';

/** The named or only one. @throws HarnessError `CLUSTER_NOT_FOUND` */
export async function onCluster<T>(
  { name }: ClusterFlags,
  { stateDir }: Pick<CommandContext, 'stateDir'>,
  work: (cluster: Cluster) => Promise<T> | T,
): Promise<T> {
  const cluster = await Cluster.attach(name, { stateDir });
  try {
    return await work(cluster);
  } finally {
    await cluster.detach();
  }
}
