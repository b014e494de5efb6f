import { HarnessError } from '../base/errors.ts';
import { Cluster } from '../cluster/cluster.ts';
import { whyEnding } from '../cluster/state/turn.ts';
import type { ClusterFlags, CommandContext } from './context.ts';

const OWN_REASONS: ReadonlySet<string> = new Set(['INTERRUPTED', 'USAGE', 'CLUSTER_GONE']);

/** A cluster that is removed meanwhile may be why. */
function isOther(error: unknown): boolean {
  return !(error instanceof HarnessError && OWN_REASONS.has(error.code));
}

/** The named or only one. @throws HarnessError `CLUSTER_NOT_FOUND` */
export async function onCluster<T>(
  { name }: ClusterFlags,
  { stateDir }: Pick<CommandContext, 'stateDir'>,
  work: (cluster: Cluster) => Promise<T> | T,
): Promise<T> {
  const cluster = await Cluster.attach(name, { stateDir });
  try {
    return await work(cluster);
  } catch (error) {
    const why = isOther(error) ? whyEnding(stateDir, cluster.name) : undefined;
    if (why === undefined) throw error;
    throw new HarnessError(why.code, why.message, { hint: why.hint, cause: error });
  } finally {
    await cluster.detach();
  }
}
