import { basename, join } from 'node:path';
import type { Command } from '../../base/machine/processes.ts';
import { CONFINED } from '../../places/docker/container.ts';
import type { ContainerSpec } from '../../places/docker/engine/documents.ts';
import { labelsOf, type Owner } from '../../places/docker/names.ts';
import { CONFIG, HOME_BOARD, PROVISIONING } from './files.ts';
import { grafanaHome, SERVERS, type ServerName } from './programs.ts';

/** For this machine only. */
export const HOST = '127.0.0.1';

export interface ServerPlan {
  readonly name: ServerName;
  readonly port: number;
  readonly folder: string;
}

/** By default pages of every origin may read; the pattern must match the whole origin. */
export const CORS_OF_PROMETHEUS = String.raw`--web.cors.origin=http://127\.0\.0\.1:\d+`;

interface Start {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function prometheusStart({ port, folder }: ServerPlan): Start {
  return {
    args: [
      `--config.file=${join(folder, CONFIG)}`,
      `--storage.tsdb.path=${join(folder, 'prometheus', 'data')}`,
      `--web.listen-address=${HOST}:${port}`,
      CORS_OF_PROMETHEUS,
    ],
    env: {},
  };
}

function grafanaStart({ port, folder }: ServerPlan): Start {
  return {
    args: [],
    env: {
      GF_SERVER_HTTP_ADDR: HOST,
      GF_SERVER_HTTP_PORT: String(port),
      ...grafanaEnvironment(folder),
      GF_PATHS_DATA: join(folder, 'grafana', 'data'),
      GF_PATHS_LOGS: join(folder, 'grafana', 'logs'),
      GF_PATHS_PLUGINS: join(folder, 'grafana', 'plugins'),
    },
  };
}

/** Visitors may view, not change; no internet requests; nothing is shown under a foreign host name. */
export function grafanaEnvironment(folder: string): Record<string, string> {
  return {
    GF_PATHS_PROVISIONING: `${folder}/${PROVISIONING}`,
    GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: `${folder}/${HOME_BOARD}`,
    GF_DASHBOARDS_MIN_REFRESH_INTERVAL: '1s',
    GF_SERVER_DOMAIN: HOST,
    GF_SERVER_ENFORCE_DOMAIN: 'true',
    GF_AUTH_ANONYMOUS_ENABLED: 'true',
    GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
    GF_AUTH_BASIC_ENABLED: 'false',
    GF_AUTH_DISABLE_LOGIN_FORM: 'true',
    GF_ANALYTICS_REPORTING_ENABLED: 'false',
    GF_ANALYTICS_CHECK_FOR_UPDATES: 'false',
    GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: 'false',
    GF_NEWS_NEWS_FEED_ENABLED: 'false',
    GF_PLUGINS_PREINSTALL_DISABLED: 'true',
  };
}

function startOf(plan: ServerPlan): Start {
  return plan.name === 'prometheus' ? prometheusStart(plan) : grafanaStart(plan);
}

/** @throws HarnessError `BINARY_INVALID` without Grafana's own files */
export function serverCommand(plan: ServerPlan, program: string): Command {
  const { args, env } = startOf(plan);
  if (plan.name === 'prometheus') return { file: program, args, env };
  // Since version 9 one program has commands; the separate server remains.
  const command = basename(program).startsWith('grafana-server') ? [] : ['server'];
  return { file: program, args: [...command, '--homepath', grafanaHome(program), ...args], env };
}

/**
 * Shares the machine's network, where nodes listen on loopback, and the folder under the same path and user. Removed when it
 * stops.
 */
export function serverContainer(
  plan: ServerPlan,
  { owner, user }: { readonly owner: Owner; readonly user: string },
): ContainerSpec {
  const { args, env } = startOf(plan);
  return {
    Image: SERVERS[plan.name].image,
    User: user,
    Labels: labelsOf(owner),
    ...(args.length === 0 ? {} : { Cmd: [...args] }),
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    HostConfig: {
      NetworkMode: 'host',
      AutoRemove: true,
      Binds: [`${plan.folder}:${plan.folder}`],
      ...CONFINED,
    },
  };
}
