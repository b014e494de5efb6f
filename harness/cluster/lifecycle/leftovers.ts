/** Clusters whose owner died. The next start in the state folder removes them. */
import { join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { readJson } from '../../base/json-file.ts';
import { mayBeAlive } from '../../base/machine/processes.ts';
import { removeFolder } from '../state/move.ts';
import {
  asideFolders,
  type ClusterRecord,
  isLeftOver,
  listClusters,
  readableRecord,
} from '../state/state.ts';
import { driverOf } from './drivers.ts';
import { tearDown } from './teardown.ts';

function leftovers(stateDir: string): ClusterRecord[] {
  return listClusters(stateDir)
    .map((name) => readableRecord(stateDir, name, leftAlone))
    .filter((record) => record !== undefined)
    .filter(isLeftOver);
}

const leftAlone = () => undefined;

function removeAside(stateDir: string): void {
  for (const path of asideFolders(stateDir)) {
    const record = readJson(join(path, 'cluster.json')) as ClusterRecord | undefined;
    if (record?.owner !== undefined && !mayBeAlive(record.owner)) removeFolder(path);
  }
}

function whyRemoved({ ephemeral, owner }: ClusterRecord): string {
  return ephemeral
    ? `process ${owner.pid}, which it belonged to, has ended`
    : `process ${owner.pid} ended before it had started it`;
}

export async function removeLeftovers(stateDir: string): Promise<string[]> {
  const records = leftovers(stateDir);
  const removed: string[] = [];
  for (const record of records) {
    const driver = driverOf(stateDir, record, { stopWithParent: false });
    try {
      await tearDown(stateDir, record, driver);
      removed.push(record.name);
      process.stderr.write(`svcnet: removed cluster '${record.name}': ${whyRemoved(record)}\n`);
    } catch (error) {
      // A cluster that cannot be removed, such as another user's, must not prevent a start.
      process.emitWarning(
        `cluster '${record.name}', whose owner is gone, could not be removed: ${messageOf(error)}`,
      );
    } finally {
      await driver.close();
    }
  }
  removeAside(stateDir);
  return removed;
}
