/**
 * Who upgrades a node: it is stopped and its files change, so nobody else may upgrade, start, change or
 * remove it, or save its cluster.
 */
import { HarnessError } from '../../base/errors.ts';
import { type ClusterRecord, clusterFolder } from './state.ts';
import { takeClusterTurn, whoseTurn } from './turn.ts';

/** @returns ends it @throws HarnessError `NODE_STATE` when it is being upgraded, `CLUSTER_GONE` */
export function beginUpgrading(
  stateDir: string,
  cluster: Pick<ClusterRecord, 'name' | 'token'>,
  node: string,
): Disposable {
  return takeClusterTurn(stateDir, cluster, `upgrading-${node}`, ({ pid }) => beingUpgraded(node, pid));
}

/** Why the node stays as it is, if it is being upgraded. */
export function whyUpgraded(stateDir: string, cluster: string, node: string): HarnessError | undefined {
  const upgrading = whoseTurn(clusterFolder(stateDir, cluster).path, `upgrading-${node}`);
  return upgrading === undefined ? undefined : beingUpgraded(node, upgrading.pid);
}

function beingUpgraded(node: string, pid: number): HarnessError {
  return new HarnessError('NODE_STATE', `${node} is being upgraded by process ${pid}`, {
    hint: 'Try again when it has been upgraded.',
  });
}
