/**
 * Changes to the record of a cluster that runs, one after the other: commands and programs that add nodes, remove
 * them or buy batches at the same moment each start from what the one before has written.
 */
import type { Clock } from '../../../formats/clock.ts';
import { clusterGone, HarnessError } from '../../base/errors.ts';
import { until } from '../../base/wait.ts';
import { type ClusterRecord, clusterFolder, readRecord, writeRecord } from './state.ts';
import { takeTurn } from './turn.ts';

/** A change takes milliseconds. */
const WAIT_MS = 10_000;

export interface RecordContext {
  readonly clock: Clock;
  readonly stateDir: string;
  readonly record: Pick<ClusterRecord, 'name' | 'token'>;
}

/**
 * @param change what throws changes nothing @returns the record as it is now
 * @throws HarnessError `CLUSTER_GONE`, `WAIT_TIMEOUT`; what the change throws
 */
export async function changeRecord(
  { clock, stateDir, record: { name, token } }: RecordContext,
  change: (record: ClusterRecord) => ClusterRecord,
): Promise<ClusterRecord> {
  const expectCluster = () => {
    const record = readRecord(stateDir, name);
    if (record?.token !== token) throw clusterGone(name);
    return record;
  };
  const turn = await until<Disposable>(
    `the record of cluster '${name}' cannot be changed`,
    async () => {
      expectCluster();
      return turnOf(clusterFolder(stateDir, name).path);
    },
    { clock, timeoutMs: WAIT_MS },
  );
  using _turn = turn;
  const changed = change(expectCluster());
  writeRecord(stateDir, changed);
  return changed;
}

function turnOf(folder: string): { readonly done: Disposable } | { readonly missing: string } {
  try {
    const taken = ({ pid }: { readonly pid: number }) =>
      new HarnessError('NODE_STATE', `process ${pid} is changing it`);
    return { done: takeTurn(folder, 'changing', taken) };
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    return { missing: error.message };
  }
}
