/**
 * Nodes being added: a file each, from before the launch until recorded. A dead process's file says what it left, see
 * `growth/abandoned.ts`.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../../base/json-file.ts';
import { isAlive, ownProcess, type ProcessId } from '../../base/machine/processes.ts';
import { clusterFolder } from './state.ts';
import { namesIn } from './state-folder.ts';

/** @returns ends it */
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

/** Nodes whose adder is gone. */
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
  return join(folderOf(stateDir, cluster), `${node}.json`);
}
