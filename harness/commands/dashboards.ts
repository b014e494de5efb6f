import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cannotWrite, HarnessError } from '../base/errors.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { checkPortsFree, pickFreePorts } from '../base/machine/ports.ts';
import { ownProcess } from '../base/machine/processes.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { clusterFolder, expectOwnRecord, findCluster, readRecord } from '../cluster/state/state.ts';
import { HOST } from '../metrics/dashboards/definition.ts';
import { dashboardFiles, NODE_TARGETS, nodeTargets } from '../metrics/dashboards/files.ts';
import { SERVERS, type ServerName } from '../metrics/dashboards/programs.ts';
import {
  dashboardsFolder,
  endDashboards,
  hasDashboards,
  type RunningDashboards,
  type RunningServer,
  readRunning,
  writeDashboards,
  writeRunning,
} from '../metrics/dashboards/running.ts';
import {
  ended,
  findServer,
  isRunning,
  type ServerRequest,
  startServer,
} from '../metrics/dashboards/servers.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { Watch } from './dashboards-watch.ts';
import { onCluster } from './on-cluster.ts';

export const DEFAULT_PORTS: Readonly<Record<ServerName, number>> = { prometheus: 9090, grafana: 3000 };
const CHECK_PAUSE_MS = 500;
/** Nodes may take so long to stop when the whole cluster ends. */
const END_PAUSE_MS = 3000;

export interface DashboardsFlags extends ClusterFlags {
  /** 0: any free port. */
  readonly port?: number;
  readonly grafanaPort?: number;
  /** Milliseconds between scrapes. */
  readonly interval: number;
  /** Paths of executables. */
  readonly prometheus?: string;
  /** False: only Prometheus. */
  readonly grafana?: string | boolean;
  /** Stops running dashboards. */
  readonly stop?: boolean;
}

export async function dashboards(flags: DashboardsFlags, context: CommandContext): Promise<void> {
  const { name } = findCluster(context.stateDir, flags.name);
  expectOwnRecord(context.stateDir, name);
  const { path } = clusterFolder(context.stateDir, name);
  if (flags.stop === true) return stop(name, path, context);
  const before = readRunning(path);
  if (before !== undefined && hasDashboards(path)) throw runAlready(name, before);
  // Of a killed command.
  await endDashboards(path);
  await onCluster({ name }, context, (cluster) => show(cluster, flags, context));
}

async function stop(name: string, folder: string, context: CommandContext): Promise<void> {
  const running = await endDashboards(folder);
  const servers = running?.servers.map((server) => SERVERS[server.name].title) ?? [];
  answer(context, { name, stopped: running?.servers.map((server) => server.name) ?? [] }, [
    servers.length === 0
      ? `  no dashboards of ${name} are running`
      : `  stopped ${servers.join(' and ')} of ${name}; their data stays with the cluster`,
  ]);
}

function runAlready(name: string, { servers, owner }: RunningDashboards): HarnessError {
  const urls = servers.map((server) => server.url).join(' and ');
  return new HarnessError(
    'PROCESS_FAILED',
    `dashboards of '${name}' are already running, started by process ${owner.pid}: ${urls}`,
    { hint: `Stop them with: svcnet dashboards --name ${name} --stop` },
  );
}

async function show(cluster: Cluster, flags: DashboardsFlags, context: CommandContext): Promise<void> {
  const plan = await planOf(cluster, flags, context);
  const folder = dashboardsFolder(cluster.folder);
  const servers: RunningServer[] = [];
  const keep = () => writeRunning(cluster.folder, { owner: ownProcess(), servers });
  writeFiles(cluster, folder, flags.interval, plan);
  keep();
  try {
    await using _watch = await Watch.open(cluster, context.signal);
    for (const request of plan) {
      servers.push(await startServer(request, context.signal));
      keep();
    }
    tell(cluster, servers, plan, context);
    await follow(cluster, { servers, plan }, context);
  } finally {
    await endOwn(cluster.folder);
  }
}

/** Another command may have stopped these servers and started new ones. */
async function endOwn(folder: string): Promise<void> {
  const running = readRunning(folder);
  if (running?.owner.pid === process.pid) await endDashboards(folder);
}

/** Prometheus is useful without Grafana. */
async function planOf(
  cluster: Cluster,
  flags: DashboardsFlags,
  context: CommandContext,
): Promise<ServerRequest[]> {
  const { token } = findCluster(context.stateDir, cluster.name);
  const folder = dashboardsFolder(cluster.folder);
  const request = async (name: ServerName, flag: string | undefined, port: number | undefined) => {
    const source = await findServer(name, { flag, note: (text) => context.note(`  ${text}\n`) });
    const wanted = port ?? DEFAULT_PORTS[name];
    const log = clusterFolder(context.stateDir, cluster.name).log(name);
    return {
      name,
      port: await freePort(name, wanted),
      folder,
      owner: { token, name: cluster.name },
      source,
      log,
    };
  };
  const prometheus = await request('prometheus', flags.prometheus, flags.port);
  if (flags.grafana === false) return [prometheus];
  const named = typeof flags.grafana === 'string' ? flags.grafana : undefined;
  try {
    return [prometheus, await request('grafana', named, flags.grafanaPort)];
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'PROGRAM_NOT_FOUND') throw error;
    context.note(`  without Grafana: ${error.message}\n  ${error.hint}\n`);
    return [prometheus];
  }
}

async function freePort(name: ServerName, wanted: number): Promise<number> {
  if (wanted === 0) return (await pickFreePorts(1))[0] as number;
  try {
    await checkPortsFree([{ port: wanted, by: SERVERS[name].title }], HOST);
    return wanted;
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'PORT_IN_USE') throw error;
    const option = name === 'prometheus' ? '--port' : '--grafana-port';
    throw new HarnessError(error.code, error.message, {
      cause: error,
      hint: `Choose another port with ${option}, or 0 for any free port.`,
    });
  }
}

function writeFiles(
  cluster: Cluster,
  folder: string,
  intervalMs: number,
  [prometheus]: readonly ServerRequest[],
): void {
  const url = `http://${HOST}:${prometheus?.port}`;
  try {
    writeDashboards(folder, dashboardFiles({ nodes: cluster.nodes, intervalMs, prometheus: url, folder }));
  } catch (error) {
    throw cannotWrite(folder, error);
  }
}

function tell(
  cluster: Cluster,
  servers: readonly RunningServer[],
  plan: readonly ServerRequest[],
  context: CommandContext,
): void {
  const rows = servers.map(({ name, url }, i) => {
    const { source } = plan[i] as ServerRequest;
    return { name, url, source: source.kind === 'program' ? source.path : source.image };
  });
  answer(context, { name: cluster.name, folder: dashboardsFolder(cluster.folder), servers: rows }, [
    ...rows.map(({ name, url, source }) => `  ${SERVERS[name].title.padEnd(11)} ${url}   (${source})`),
    `  ${cluster.nodes.length} nodes of ${cluster.name} are scraped. Press Ctrl-C to stop; the data stays with the cluster.`,
  ]);
}

interface Shown {
  readonly servers: readonly RunningServer[];
  readonly plan: readonly ServerRequest[];
}

async function follow(
  cluster: Cluster,
  shown: Shown,
  { stateDir, signal, note }: CommandContext,
): Promise<void> {
  const { token } = findCluster(stateDir, cluster.name);
  const isThere = () => readRecord(stateDir, cluster.name)?.token === token;
  let written = nodeTargets(cluster.nodes);
  while (!signal.aborted) {
    try {
      if (readRunning(cluster.folder)?.owner.pid !== process.pid) {
        // `down` stops the dashboards before the cluster.
        await MACHINE_CLOCK.sleep(END_PAUSE_MS, signal);
        if (!isThere()) throw goneError(cluster.name);
        note('  stopped by another command\n');
        return;
      }
      await checkRunning(cluster, shown);
      const current = nodeTargets(readRecord(stateDir, cluster.name)?.nodes ?? []);
      if (current !== written && isThere()) {
        writeFileSync(join(dashboardsFolder(cluster.folder), NODE_TARGETS), (written = current));
      }
      await MACHINE_CLOCK.sleep(CHECK_PAUSE_MS, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** @throws HarnessError `PROCESS_FAILED` when a server has ended */
async function checkRunning(cluster: Cluster, { servers, plan }: Shown): Promise<void> {
  for (const [i, server] of servers.entries()) {
    if (await isRunning(server)) continue;
    if (readRunning(cluster.folder)?.owner.pid === process.pid) throw await ended(plan[i] as ServerRequest);
  }
}

function goneError(name: string): HarnessError {
  return new HarnessError('CLUSTER_GONE', `cluster '${name}' has been removed, and its dashboards with it`);
}
