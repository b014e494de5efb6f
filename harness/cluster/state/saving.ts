/**
 * Who saves a cluster: its nodes are stopped then and their data is being copied, so nobody else may save it, start
 * them or change their data.
 */
import { clusterGone, HarnessError } from '../../base/errors.ts';
import type { ProcessId } from '../../base/machine/processes.ts';
import { type ClusterRecord, clusterFolder, readRecord } from './state.ts';
import { takeTurn, whoseTurn } from './turn.ts';

/**
 * @returns ends it
 * @throws HarnessError `SNAPSHOT_REFUSED` when it is being saved already, `CLUSTER_GONE` when it has been removed: its
 * folder would be there again, or is another cluster's
 */
export function beginSaving(
  stateDir: string,
  { name, token }: Pick<ClusterRecord, 'name' | 'token'>,
): Disposable {
  const expectCluster = () => {
    if (readRecord(stateDir, name)?.token !== token) throw clusterGone(name);
  };
  expectCluster();
  const turn = takenBy(stateDir, name);
  try {
    expectCluster();
  } catch (error) {
    turn[Symbol.dispose]();
    throw error;
  }
  return turn;
}

/**
 * The process that saves the cluster now, if any.
 * @param folder of the cluster
 */
export function savingProcess(folder: string): ProcessId | undefined {
  return whoseTurn(folder, 'saving');
}

function takenBy(stateDir: string, name: string): Disposable {
  try {
    return takeTurn(clusterFolder(stateDir, name).path, 'saving', ({ pid }) => beingSaved(name, pid));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw clusterGone(name);
    throw error;
  }
}

function beingSaved(name: string, pid: number): HarnessError {
  return new HarnessError('SNAPSHOT_REFUSED', `cluster '${name}' is being saved by process ${pid}`, {
    hint: 'Try again when it has been saved.',
  });
}
