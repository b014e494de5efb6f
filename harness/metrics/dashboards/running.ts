/** Running dashboards as a file in the cluster's folder: any process can end them, such as the end of the cluster. */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readJson, writeJson } from '../../base/json-file.ts';
import { endProcess, isAlive, type ProcessId } from '../../base/machine/processes.ts';
import { makeFolder } from '../../base/own-folder.ts';
import { stopContainer } from '../../places/docker/containers.ts';
import { Engine } from '../../places/docker/engine/engine.ts';
import { NODE_TARGETS, testbedTargets } from './files.ts';
import type { ServerName } from './programs.ts';

/** For the servers to write what is in memory. */
const GRACE_MS = 5000;

export interface RunningServer {
  readonly name: ServerName;
  readonly url: string;
  readonly process?: ProcessId;
  /** Id. */
  readonly container?: string;
}

export interface RunningDashboards {
  readonly owner: ProcessId;
  readonly servers: readonly RunningServer[];
}

/** Earlier endpoints go, data stays. */
export function writeDashboards(
  folder: string,
  files: readonly { readonly path: string; readonly content: string }[],
): void {
  rmSync(join(folder, dirname(NODE_TARGETS)), { recursive: true, force: true });
  for (const { path, content } of files) {
    makeFolder(dirname(join(folder, path)));
    writeFileSync(join(folder, path), content);
  }
}

export function dashboardsFolder(folder: string): string {
  return join(folder, 'dashboards');
}

function runningFile(folder: string): string {
  return join(dashboardsFolder(folder), 'running.json');
}

export function readRunning(folder: string): RunningDashboards | undefined {
  return readJson(runningFile(folder)) as RunningDashboards | undefined;
}

export function writeRunning(folder: string, running: RunningDashboards): void {
  writeJson(runningFile(folder), running);
}

function isOwned({ owner }: RunningDashboards): boolean {
  return isAlive(owner);
}

/**
 * Of any command, which can tell that it was intended; data stays.
 * @param folder of the cluster @returns what ran @throws HarnessError `ENGINE_FAILED`
 */
export async function endDashboards(folder: string): Promise<RunningDashboards | undefined> {
  const running = readRunning(folder);
  if (running === undefined) return undefined;
  rmSync(runningFile(folder), { force: true });
  try {
    await Promise.all(running.servers.map(endServer));
  } catch (error) {
    // Servers still running must remain recorded.
    writeRunning(folder, running);
    throw error;
  }
  return running;
}

export async function endServer({ process, container }: RunningServer): Promise<void> {
  if (process !== undefined) await endProcess(process, GRACE_MS);
  // It removes itself.
  if (container !== undefined) await stopContainer(new Engine(), container, GRACE_MS);
}

export function hasDashboards(folder: string): boolean {
  const running = readRunning(folder);
  return running !== undefined && isOwned(running);
}

/** Series announced to a cluster's Prometheus. */
export interface Announcement {
  isHeard(): boolean;
  withdraw(): void;
}

/**
 * The harness's series, to a cluster's Prometheus.
 * @param folder of the cluster @param who such as a run's name @param url of the endpoint
 */
export function announceTestbed(folder: string, who: string, url: string): Announcement {
  const file = join(
    dashboardsFolder(folder),
    dirname(NODE_TARGETS),
    `testbed-${who.replace(/[^\w.-]/g, '_')}.json`,
  );
  writeFileSync(file, testbedTargets(url));
  return { isHeard: () => hasDashboards(folder), withdraw: () => rmSync(file, { force: true }) };
}
