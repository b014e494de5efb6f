/**
 * Whose turn it is for a cluster or report: a file per process; those of dead processes do not count. Each writes its file
 * before it looks for others, so no two have it.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { clusterGone, HarnessError } from '../../base/errors.ts';
import { readJson, replaceJson } from '../../base/json-file.ts';
import { isAlive, ownProcess, type ProcessId } from '../../base/machine/processes.ts';
import { type ClusterRecord, clusterFolder, readRecord } from './state.ts';

export type Purpose = 'saving' | 'starting' | 'reporting' | 'changing' | 'ending' | `upgrading-${string}`;

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
  const turn = noteTurn(folder, purpose);
  try {
    expectNobody(whoseTurn(folder, purpose, fileOf(folder, purpose)));
  } catch (error) {
    turn[Symbol.dispose]();
    throw error;
  }
  return turn;
}

/** Others may do it too. @returns ends it @throws the system's Error, `ENOENT` without the folder */
export function noteTurn(folder: string, purpose: Purpose): Disposable {
  const own = fileOf(folder, purpose);
  replaceJson(own, ownProcess());
  return { [Symbol.dispose]: () => rmSync(own, { force: true }) };
}

function fileOf(folder: string, purpose: Purpose): string {
  return join(folder, `${purpose}-${process.pid}.json`);
}

/** Whatever fails then fails because of that. */
export function whyEnding(stateDir: string, name: string): HarnessError | undefined {
  const { path } = clusterFolder(stateDir, name);
  if (!existsSync(path)) return clusterGone(name);
  const ending = whoseTurn(path, 'ending');
  if (ending === undefined) return undefined;
  return new HarnessError('CLUSTER_GONE', `cluster '${name}' is being stopped by process ${ending.pid}`);
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
