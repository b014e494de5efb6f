/**
 * Who saves a cluster: its nodes are stopped and their data is copied, so nobody else may save it, start them
 * or change their data.
 */
import { HarnessError } from '../../base/errors.ts';
import type { ProcessId } from '../../base/machine/processes.ts';
import { type ClusterRecord, readRecord } from './state.ts';
import { takeClusterTurn, whoseTurn } from './turn.ts';
import { whyUpgraded } from './upgrading.ts';

/**
 * @returns ends it
 * @throws HarnessError `SNAPSHOT_REFUSED` when it is being saved, or a node is being upgraded, `CLUSTER_GONE`
 */
export function beginSaving(stateDir: string, cluster: Pick<ClusterRecord, 'name' | 'token'>): Disposable {
  const { name } = cluster;
  const refuse = (why: string) => refused(name, why);
  const turn = takeClusterTurn(stateDir, cluster, 'saving', ({ pid }) =>
    refuse(`is being saved by process ${pid}`),
  );
  const upgraded = (readRecord(stateDir, name)?.nodes ?? [])
    .map((node) => whyUpgraded(stateDir, name, node.name))
    .find((why) => why !== undefined);
  if (upgraded === undefined) return turn;
  turn[Symbol.dispose]();
  throw refuse(`cannot be saved: ${upgraded.message}`);
}

/**
 * The saving process, if any.
 * @param folder of the cluster
 */
export function savingProcess(folder: string): ProcessId | undefined {
  return whoseTurn(folder, 'saving');
}

function refused(cluster: string, why: string): HarnessError {
  return new HarnessError('SNAPSHOT_REFUSED', `cluster '${cluster}' ${why}`, {
    hint: 'Try again when that is done.',
  });
}
