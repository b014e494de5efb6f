/**
 * When a process ends without stopping its ephemeral clusters, for example because something threw, they are removed
 * with it: synchronously, since nothing else runs at that moment.
 */
import { runInThisContext } from 'node:vm';
import { messageOf } from '../../base/errors.ts';
import type { Driver } from '../../places/driver.ts';
import { type ClusterRecord, removeCluster } from '../state/state.ts';
import { partsOf } from './drivers.ts';

interface Doomed {
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly driver: Driver;
}

const clusters = new Set<Doomed>();

/** Under jest `process` is a copy that never exits; only the main context has the real one. */
const real = runInThisContext('process') as NodeJS.Process;

/** @returns takes the cluster off the list again */
export function removeAtExit(cluster: Doomed): () => void {
  if (clusters.size === 0) real.once('exit', removeAll);
  clusters.add(cluster);
  return () => {
    clusters.delete(cluster);
    if (clusters.size === 0) real.off('exit', removeAll);
  };
}

function removeAll(): void {
  for (const { stateDir, record, driver } of clusters) {
    try {
      driver.disposeNow(partsOf(stateDir, record));
      removeCluster(stateDir, record);
    } catch (error) {
      real.stderr.write(`svcnet: cluster '${record.name}' could not be removed: ${messageOf(error)}\n`);
    }
  }
}
