/**
 * What is left of clusters whose owner died before it could stop them: it was killed, or ran out of time. Whoever
 * starts something next in the same state folder removes it.
 */
import { HarnessError } from '../base/errors.ts';
import { isAlive } from '../machine/processes.ts';
import { type ClusterRecord, listClusters, readRecord } from '../state/state.ts';
import { driverOf } from './drivers.ts';
import { tearDown } from './teardown.ts';

/** Clusters that were to end with a process that is gone, and those whose start was never finished. */
export function leftovers(stateDir: string): ClusterRecord[] {
  return listClusters(stateDir)
    .map((name) => readable(stateDir, name))
    .filter((record) => record !== undefined)
    .filter(({ ephemeral, phase, owner }) => (ephemeral || phase === 'starting') && !isAlive(owner));
}

/** What another version wrote is not ours to judge. */
function readable(stateDir: string, name: string): ClusterRecord | undefined {
  try {
    return readRecord(stateDir, name);
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'STATE_INVALID') return undefined;
    throw error;
  }
}

/** @returns names of the clusters that are gone now */
export async function removeLeftovers(stateDir: string): Promise<string[]> {
  const records = leftovers(stateDir);
  for (const record of records) {
    const driver = driverOf(stateDir, record, { stopWithParent: false });
    try {
      await tearDown(stateDir, record, driver);
    } finally {
      await driver.close();
    }
  }
  return records.map(({ name }) => name);
}
