import { join } from 'node:path';
import { killProcess } from '../../../harness/base/machine/processes.ts';
import type { Cluster } from '../../../harness/cluster/cluster.ts';
import { runRecords } from '../../../harness/cluster/state/state.ts';

/** Nothing of it runs any more. */
export async function haltAll(net: Cluster): Promise<void> {
  const parts = runRecords(join(net.folder, '..', '..'), net.name);
  const ids = parts.map(({ handle }) => ({
    pid: Number(handle['pid']),
    startedAt: String(handle['startedAt']),
  }));
  await Promise.all(ids.map((id) => killProcess(id)));
}
