/**
 * Who changes a running cluster. Each change to the record starts from what the one before has written. Nobody else may
 * upgrade, start, change or remove a node that is being upgraded, or save its cluster; nor start or change nodes of a
 * cluster while it is saved. A file exists for each node being added until it is recorded: that of a dead process says what
 * it left, see `endAbandoned`.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../formats/clock.ts';
import { clusterGone, HarnessError } from '../../base/errors.ts';
import { readJson, writeJson } from '../../base/json-file.ts';
import { isAlive, ownProcess, type ProcessId } from '../../base/machine/processes.ts';
import { until } from '../../base/wait.ts';
import { type ClusterRecord, clusterFolder, expectOwnRecord, readRecord, writeRecord } from './state.ts';
import { namesIn } from './state-folder.ts';
import { takeClusterTurn, takeTurn, whoseTurn } from './turn.ts';

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
export function changeRecord(
  context: RecordContext,
  change: (record: ClusterRecord) => ClusterRecord,
): Promise<ClusterRecord> {
  return inTurn(context, (record) => {
    const changed = change(record);
    writeRecord(context.stateDir, changed);
    return changed;
  });
}

/**
 * What reads and writes files of a cluster that others change too. @throws HarnessError `CLUSTER_GONE`, `WAIT_TIMEOUT`; what
 * the work throws
 */
export async function inTurn<T>(
  { clock, stateDir, record: { name, token } }: RecordContext,
  work: (record: ClusterRecord) => T,
): Promise<T> {
  const expectCluster = () => {
    const record = readRecord(stateDir, name);
    if (record?.token !== token) throw clusterGone(name);
    expectOwnRecord(stateDir, name);
    return record;
  };
  const turn = await until<Disposable>(
    `the files of cluster '${name}' cannot be changed`,
    async () => {
      expectCluster();
      return turnOf(clusterFolder(stateDir, name).path);
    },
    { clock, timeoutMs: WAIT_MS },
  );
  using _turn = turn;
  return work(expectCluster());
}

function turnOf(folder: string): { readonly done: Disposable } | { readonly missing: string } {
  try {
    const taken = ({ pid }: { readonly pid: number }) =>
      new HarnessError('NODE_STATE', `process ${pid} is changing them`);
    return { done: takeTurn(folder, 'changing', taken) };
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    return { missing: error.message };
  }
}

export function beginUpgrading(
  stateDir: string,
  cluster: Pick<ClusterRecord, 'name' | 'token'>,
  node: string,
): Disposable {
  return takeClusterTurn(stateDir, cluster, `upgrading-${node}`, ({ pid }) => beingUpgraded(node, pid));
}

export function whyUpgraded(stateDir: string, cluster: string, node: string): HarnessError | undefined {
  const upgrading = whoseTurn(clusterFolder(stateDir, cluster).path, `upgrading-${node}`);
  return upgrading === undefined ? undefined : beingUpgraded(node, upgrading.pid);
}

function beingUpgraded(node: string, pid: number): HarnessError {
  return new HarnessError('NODE_STATE', `${node} is being upgraded by process ${pid}`, {
    hint: 'Try again when it has been upgraded.',
  });
}

/**
 * @returns ends it @throws HarnessError `SNAPSHOT_REFUSED` when it is being saved, or a node is being upgraded,
 * `CLUSTER_GONE`
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

export function savingProcess(folder: string): ProcessId | undefined {
  return whoseTurn(folder, 'saving');
}

function refused(cluster: string, why: string): HarnessError {
  return new HarnessError('SNAPSHOT_REFUSED', `cluster '${cluster}' ${why}`, {
    hint: 'Try again when that is done.',
  });
}

export function beginJoining(stateDir: string, cluster: string, nodes: readonly string[]): Disposable {
  for (const node of nodes) writeJson(fileOf(stateDir, cluster, node), ownProcess());
  return {
    [Symbol.dispose]() {
      for (const node of nodes) endJoining(stateDir, cluster, node);
    },
  };
}

export function endJoining(stateDir: string, cluster: string, node: string): void {
  rmSync(fileOf(stateDir, cluster, node), { force: true });
}

export function isJoining(stateDir: string, cluster: string, node: string): boolean {
  return existsSync(fileOf(stateDir, cluster, node));
}

export function abandonedNodes(
  stateDir: string,
  cluster: string,
): { readonly node: string; readonly pid: number }[] {
  return namesIn(folderOf(stateDir, cluster))
    .map((file) => file.replace(/\.json$/, ''))
    .flatMap((node) => {
      const adder = readJson(fileOf(stateDir, cluster, node)) as ProcessId | undefined;
      return adder === undefined || isAlive(adder) ? [] : [{ node, pid: adder.pid }];
    });
}

function folderOf(stateDir: string, cluster: string): string {
  return join(clusterFolder(stateDir, cluster).path, 'joining');
}

function fileOf(stateDir: string, cluster: string, node: string): string {
  return clusterFolder(stateDir, cluster).joining(node);
}
