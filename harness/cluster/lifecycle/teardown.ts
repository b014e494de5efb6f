/** Removes a cluster by its records alone, so that half a cluster can be removed too. */
import { runInThisContext } from 'node:vm';
import { messageOf, reasonOf } from '../../base/errors.ts';
import { flavourOf } from '../../flavours/table.ts';
import { endDashboards } from '../../metrics/dashboards/running.ts';
import type { Disposed, Driver } from '../../places/driver.ts';
import { type ClusterRecord, clusterFolder, isOwnCluster, removeCluster } from '../state/state.ts';
import { noteTurn } from '../state/turn.ts';
import { partsOf } from './drivers.ts';

/** Clusters of this process. When it ends without stopping them, they are removed synchronously: nothing else runs then. */
const ephemeral = new Set<Doomed>();
/** Under jest `process` is a copy that never exits; only the main context has the real one. */
const real = runInThisContext('process') as NodeJS.Process;

/** `down` promises two seconds in total. Slower parts have nothing to save: their data is removed. */
const GRACE_MS = 1500;
const PROMISED_STOP_MS = 10_000;

export interface Teardown {
  readonly stopped: readonly string[];
  /** Processes that did not stop when asked, though they promise to. */
  readonly forced: readonly string[];
}

export async function tearDown(stateDir: string, record: ClusterRecord, driver: Driver): Promise<Teardown> {
  // A copy has the token of the original, whose processes must run on.
  if (!isOwnCluster(stateDir, record.name)) {
    removeCluster(stateDir, record);
    return { stopped: [], forced: [] };
  }
  const { path } = clusterFolder(stateDir, record.name);
  using _ending = noteEnding(path);
  // They write into the folder too.
  await endDashboards(path);
  const disposed = await driver.dispose(partsOf(stateDir, record), GRACE_MS);
  removeCluster(stateDir, record);
  return nodesOf(record, disposed);
}

/** Commands that fail meanwhile say why. On a full disk they do not, but the cluster ends. */
function noteEnding(folder: string): Disposable | undefined {
  try {
    return noteTurn(folder, 'ending');
  } catch (error) {
    if (reasonOf(error) === undefined) throw error;
    return undefined;
  }
}

function nodesOf({ nodes }: ClusterRecord, { stopped, forced }: Disposed): Teardown {
  const flavours = new Map(nodes.map((node) => [node.name, flavourOf(node)]));
  return {
    stopped: stopped.filter((name) => flavours.has(name)),
    forced: forced.filter((name) => (flavours.get(name)?.stopGraceMs ?? Infinity) <= PROMISED_STOP_MS),
  };
}

interface Doomed {
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly driver: Driver;
}

export function removeAtExit(cluster: Doomed): () => void {
  if (ephemeral.size === 0) real.once('exit', removeAll);
  ephemeral.add(cluster);
  return () => {
    ephemeral.delete(cluster);
    if (ephemeral.size === 0) real.off('exit', removeAll);
  };
}

function removeAll(): void {
  for (const { stateDir, record, driver } of ephemeral) {
    try {
      driver.disposeNow(partsOf(stateDir, record));
      removeCluster(stateDir, record);
    } catch (error) {
      real.stderr.write(`svcnet: cluster '${record.name}' could not be removed: ${messageOf(error)}\n`);
    }
  }
}
