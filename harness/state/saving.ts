/**
 * Who saves a cluster: its nodes are stopped then and their data is being copied, so nobody else may save it, start
 * them or change their data. Each process that saves has a file of its own in the cluster's folder; that of a process which
 * is gone does not count. No two of them save at once: each writes its file before it looks for others.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { clusterGone, HarnessError } from '../base/errors.ts';
import { readJson, replaceJson } from '../base/json-file.ts';
import { isAlive, ownProcess, type ProcessId } from '../machine/processes.ts';
import { type ClusterRecord, clusterFolder, readRecord } from './state.ts';

const CLAIM = /^saving-\d+\.json$/;

/**
 * @returns ends it
 * @throws HarnessError `SNAPSHOT_REFUSED` when it is being saved already, `CLUSTER_GONE` when it has been removed: its
 * folder would be there again, or is another cluster's
 */
export function beginSaving(
  stateDir: string,
  { name, token }: Pick<ClusterRecord, 'name' | 'token'>,
): Disposable {
  const folder = clusterFolder(stateDir, name).path;
  const expectCluster = () => {
    if (readRecord(stateDir, name)?.token !== token) throw clusterGone(name);
  };
  expectCluster();
  // Its own file would be replaced.
  expectNobody(savingProcess(folder), name);
  const own = join(folder, `saving-${process.pid}.json`);
  writeClaim(own, name);
  const remove = () => rmSync(own, { force: true });
  try {
    expectNobody(savingProcess(folder, { except: own }), name);
    expectCluster();
  } catch (error) {
    remove();
    throw error;
  }
  return { [Symbol.dispose]: remove };
}

/**
 * The process that saves the cluster now, if any.
 * @param folder of the cluster @param options.except path of a claim that does not count
 */
export function savingProcess(folder: string, { except }: { except?: string } = {}): ProcessId | undefined {
  return claimsIn(folder)
    .filter((path) => path !== except)
    .map((path) => readJson(path) as ProcessId | undefined)
    .find((owner) => owner !== undefined && isAlive(owner));
}

function writeClaim(path: string, cluster: string): void {
  try {
    replaceJson(path, ownProcess());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw clusterGone(cluster);
    throw error;
  }
}

function expectNobody(owner: ProcessId | undefined, name: string): void {
  if (owner === undefined) return;
  throw new HarnessError('SNAPSHOT_REFUSED', `cluster '${name}' is being saved by process ${owner.pid}`, {
    hint: 'Try again when it has been saved.',
  });
}

function claimsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => CLAIM.test(name))
      .map((name) => join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
