/**
 * Nodes that a process is adding, a file each until the record has them. When that process is killed meanwhile, the next one
 * that opens the cluster ends what it has left behind.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../../base/json-file.ts';
import { isAlive, ownProcess, type ProcessId } from '../../base/machine/processes.ts';
import type { OpenContext } from '../nodes/open-nodes.ts';
import { removeFolder } from '../state/move.ts';
import { clusterFolder, isOwnCluster, readRecord, readRun, removeRun } from '../state/state.ts';
import { namesIn } from '../state/state-folder.ts';

/** They have no data that anybody wants. */
const GRACE_MS = 500;

type Growing = Pick<OpenContext, 'stateDir' | 'record' | 'driver'>;

/** Before any of them is launched. @returns ends it */
export function beginJoining({ stateDir, record }: Growing, nodes: readonly string[]): Disposable {
  const files = nodes.map((node) => fileOf(stateDir, record.name, node));
  for (const file of files) writeJson(file, ownProcess());
  return {
    [Symbol.dispose]() {
      for (const file of files) rmSync(file, { force: true });
    },
  };
}

/** Standard error gets a line for each node that is removed. */
export async function endAbandoned({ stateDir, record, driver }: Growing): Promise<void> {
  const { name, token } = record;
  if (!isOwnCluster(stateDir, name)) return;
  const abandoned = namesIn(folderOf(stateDir, name))
    .map((file) => file.replace(/\.json$/, ''))
    .map((node) => ({ node, owner: readJson(fileOf(stateDir, name, node)) as ProcessId | undefined }))
    .filter(({ owner }) => owner !== undefined && !isAlive(owner));
  if (abandoned.length === 0) return;
  // A process that is gone writes no more: whatever has joined is in the record by now.
  const now = readRecord(stateDir, name);
  if (now?.token !== token) return;
  await Promise.all(
    abandoned.map(async ({ node, owner }) => {
      if (!now.nodes.some((joined) => joined.name === node)) {
        const recorded = readRun(stateDir, name, node);
        const found = (await driver.find?.(node)) ?? [];
        const handles = [...(recorded === undefined ? [] : [recorded.handle]), ...found];
        await Promise.all(handles.map((handle) => driver.stop(handle, GRACE_MS)));
        removeNodeFiles(stateDir, name, node);
        process.stderr.write(
          `svcnet: removed ${node} from cluster '${name}': process ${owner?.pid} ended before it had added it\n`,
        );
      }
      rmSync(fileOf(stateDir, name, node), { force: true });
    }),
  );
}

/** What a node that has ended leaves on disk, but for its logs. */
export function removeNodeFiles(stateDir: string, cluster: string, node: string): void {
  removeRun(stateDir, cluster, node);
  removeFolder(clusterFolder(stateDir, cluster).dataDir(node));
}

function folderOf(stateDir: string, cluster: string): string {
  return join(clusterFolder(stateDir, cluster).path, 'joining');
}

function fileOf(stateDir: string, cluster: string, node: string): string {
  return join(folderOf(stateDir, cluster), `${node}.json`);
}
