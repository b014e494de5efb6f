/** `svcnet down`: stop a cluster and remove everything it made, or forget one that was attached. */

import { HarnessError } from '../base/errors.ts';
import { formatMs, plural } from '../base/words.ts';
import { driverOf } from '../lifecycle/drivers.ts';
import { removeLeftovers } from '../lifecycle/leftovers.ts';
import { type Teardown, tearDown } from '../lifecycle/teardown.ts';
import { isAlive } from '../machine/processes.ts';
import { type ClusterRecord, findCluster, listClusters, readRecord } from '../state/state.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

/** What is not there needs no removing: a second `down` answers like the first. */
export async function down(flags: ClusterFlags & { all?: boolean }, context: CommandContext): Promise<void> {
  const { stateDir } = context;
  const startedAt = performance.now();
  const records = meant(stateDir, flags);
  const removed = await Promise.all(records.map((record) => remove(stateDir, record)));
  await removeLeftovers(stateDir);
  const durationMs = Math.round(performance.now() - startedAt);
  const clusters = records.map(({ name }, i) => ({ name, ...(removed[i] as Teardown) }));
  answer(context, { clusters, durationMs }, [
    ...records.map((record, i) => `  ${outcome(record, removed[i] as Teardown)}`),
    `  ${clusters.length === 0 ? nothing(stateDir, flags) : `done in ${formatMs(durationMs)}`}`,
  ]);
}

function outcome({ name, driver, nodes }: ClusterRecord, { stopped, forced }: Teardown): string {
  if (driver === 'attached') return `forgot ${name}: its ${plural(nodes.length, 'node')} go on`;
  const how = forced.length === 0 ? '' : `, by force: ${forced.join(', ')}`;
  return `removed ${name}: ${plural(stopped.length, 'node')} stopped${how}`;
}

function meant(stateDir: string, { all, name }: ClusterFlags & { all?: boolean }): ClusterRecord[] {
  const names = listClusters(stateDir);
  if (all === true) {
    return names.map((each) => readRecord(stateDir, each)).filter((record) => record !== undefined);
  }
  if (name === undefined ? names.length === 0 : !names.includes(name)) return [];
  return [findCluster(stateDir, name)];
}

function nothing(stateDir: string, { name }: ClusterFlags): string {
  const known = listClusters(stateDir);
  const which = name === undefined ? 'no cluster' : `no cluster '${name}'`;
  return `nothing to remove: ${which}${known.length === 0 ? '' : ` (known: ${known.join(', ')})`}`;
}

async function remove(stateDir: string, record: ClusterRecord): Promise<Teardown> {
  if (record.phase === 'starting' && isAlive(record.owner)) {
    throw new HarnessError(
      'CLUSTER_EXISTS',
      `cluster '${record.name}' is being started by process ${record.owner.pid}`,
      {
        hint: 'Interrupt that command; it removes what it started.',
      },
    );
  }
  const driver = driverOf(stateDir, record, { stopWithParent: false });
  try {
    return await tearDown(stateDir, record, driver);
  } finally {
    await driver.close();
  }
}
