/** `svcnet down`: stop a cluster and remove everything it made. */

import { HarnessError } from '../base/errors.ts';
import { formatMs, plural } from '../base/words.ts';
import { type Teardown, tearDown } from '../cluster/teardown.ts';
import { isAlive } from '../machine/processes.ts';
import { createDriver } from '../places/table.ts';
import {
  type ClusterRecord,
  compileCacheDir,
  findCluster,
  listClusters,
  readRecord,
} from '../state/state.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

export async function down(flags: ClusterFlags & { all?: boolean }, context: CommandContext): Promise<void> {
  const { stateDir } = context;
  const names = listClusters(stateDir);
  // Without a name nothing to remove is what was wanted, the second time as well; a name that is none is a mistake.
  const records =
    flags.all === true || (flags.name === undefined && names.length === 0)
      ? names.map((name) => readRecord(stateDir, name)).filter((record) => record !== undefined)
      : [findCluster(stateDir, flags.name)];
  const startedAt = performance.now();
  const removed = await Promise.all(records.map((record) => remove(stateDir, record)));
  const durationMs = Math.round(performance.now() - startedAt);
  const clusters = records.map(({ name }, i) => ({ name, ...(removed[i] as Teardown) }));
  answer(context, { clusters, durationMs }, [
    ...clusters.map(
      ({ name, stopped, forced }) =>
        `  removed ${name}: ${plural(stopped.length, 'node')} stopped${forced.length === 0 ? '' : `, by force: ${forced.join(', ')}`}`,
    ),
    `  ${clusters.length === 0 ? 'nothing to remove' : `done in ${formatMs(durationMs)}`}`,
  ]);
}

function remove(stateDir: string, record: ClusterRecord): Promise<Teardown> {
  if (record.phase === 'starting' && isAlive(record.owner)) {
    throw new HarnessError(
      'CLUSTER_EXISTS',
      `cluster '${record.name}' is being started by process ${record.owner.pid}`,
      {
        hint: 'Interrupt that command; it removes what it started.',
      },
    );
  }
  const driver = createDriver(record.driver, {
    stopWithParent: false,
    compileCache: compileCacheDir(stateDir, 'nodes'),
  });
  return tearDown(stateDir, record, driver);
}
