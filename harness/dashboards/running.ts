/**
 * What of the dashboards of a cluster runs, as a file of its folder, so that any process can end it: the command that has
 * started it, another one, and the end of the cluster.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../base/json-file.ts';
import { endProcess, isAlive, type ProcessId } from '../machine/processes.ts';
import { Engine } from '../places/docker/engine.ts';
import { stopContainer } from '../places/docker/removal.ts';
import { testbedTargets } from './files.ts';
import type { ServerName } from './programs.ts';

/** They write what they have in memory. */
const GRACE_MS = 5000;
const TARGETS = 'prometheus/targets';

/** One of them: a process of this machine, or a container of its engine. */
export interface RunningServer {
  readonly name: ServerName;
  readonly url: string;
  readonly process?: ProcessId;
  /** Id. */
  readonly container?: string;
}

export interface RunningDashboards {
  /** The command that keeps their targets up to date. */
  readonly owner: ProcessId;
  readonly servers: readonly RunningServer[];
}

/** @param folder of the cluster */
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

/** Whether the command that has started them is still there. */
export function isOwned({ owner }: RunningDashboards): boolean {
  return isAlive(owner);
}

/**
 * Ends the servers, whoever has started them; their data stays. The command that watches them sees that it was meant.
 * @param folder of the cluster @returns what ran @throws HarnessError `ENGINE_FAILED`
 */
export async function endDashboards(folder: string): Promise<RunningDashboards | undefined> {
  const running = readRunning(folder);
  if (running === undefined) return undefined;
  rmSync(runningFile(folder), { force: true });
  await Promise.all(running.servers.map(endServer));
  return running;
}

export async function endServer({ process, container }: RunningServer): Promise<void> {
  if (process !== undefined) await endProcess(process, GRACE_MS);
  // It removes itself.
  if (container !== undefined) await stopContainer(new Engine(), container, GRACE_MS);
}

/**
 * Tells the Prometheus of a cluster, if one runs, of series of the harness.
 * @param folder of the cluster @param who such as the name of a run @param url of their endpoint
 * @returns takes it back; undefined when no Prometheus runs for the cluster
 */
export function announceTestbed(folder: string, who: string, url: string): (() => void) | undefined {
  const targets = join(dashboardsFolder(folder), TARGETS);
  if (readRunning(folder) === undefined || !existsSync(targets)) return undefined;
  const file = join(targets, `testbed-${who.replace(/[^\w.-]/g, '_')}.json`);
  writeFileSync(file, testbedTargets(url));
  return () => rmSync(file, { force: true });
}
