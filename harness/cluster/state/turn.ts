/**
 * Whose turn it is for a cluster or report: a file per process; those of dead processes do not count. Each writes its file
 * before it looks for others, so no two have it.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { clusterGone } from '../../base/errors.ts';
import { readJson, replaceJson } from '../../base/json-file.ts';
import { isAlive, ownProcess, type ProcessId } from '../../base/machine/processes.ts';
import { type ClusterRecord, clusterFolder, readRecord } from './state.ts';

export type Purpose = 'saving' | 'starting' | 'reporting' | 'changing' | `upgrading-${string}`;

/**
 * @param folder of the cluster or the report @param taken what to throw when a process has it, even this one
 * @returns ends it @throws the system's Error, `ENOENT` without the folder
 */
export function takeTurn(folder: string, purpose: Purpose, taken: (owner: ProcessId) => Error): Disposable {
  const expectNobody = (owner: ProcessId | undefined) => {
    if (owner !== undefined) throw taken(owner);
  };
  // Its own file would be replaced.
  expectNobody(whoseTurn(folder, purpose));
  const own = join(folder, `${purpose}-${process.pid}.json`);
  replaceJson(own, ownProcess());
  const remove = () => rmSync(own, { force: true });
  try {
    expectNobody(whoseTurn(folder, purpose, own));
  } catch (error) {
    remove();
    throw error;
  }
  return { [Symbol.dispose]: remove };
}

/** @throws HarnessError `CLUSTER_GONE` when it has been removed: its folder would be there again, or is another cluster's */
export function takeClusterTurn(
  stateDir: string,
  { name, token }: Pick<ClusterRecord, 'name' | 'token'>,
  purpose: Purpose,
  taken: (owner: ProcessId) => Error,
): Disposable {
  const expectCluster = () => {
    if (readRecord(stateDir, name)?.token !== token) throw clusterGone(name);
  };
  expectCluster();
  let turn: Disposable;
  try {
    turn = takeTurn(clusterFolder(stateDir, name).path, purpose, taken);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw clusterGone(name);
    throw error;
  }
  try {
    expectCluster();
  } catch (error) {
    turn[Symbol.dispose]();
    throw error;
  }
  return turn;
}

export function whoseTurn(folder: string, purpose: Purpose, except?: string): ProcessId | undefined {
  return filesIn(folder, purpose)
    .filter((path) => path !== except)
    .map((path) => readJson(path) as ProcessId | undefined)
    .find((owner) => owner !== undefined && isAlive(owner));
}

function filesIn(folder: string, purpose: Purpose): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith(`${purpose}-`) && /^\d+\.json$/.test(name.slice(purpose.length + 1)))
      .map((name) => join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
