import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';

export type ServerName = 'prometheus' | 'grafana';

interface Known {
  readonly title: string;
  readonly programs: readonly string[];
  readonly variable: string;
  readonly image: string;
  readonly remedy: string;
}

export const SERVERS: Readonly<Record<ServerName, Known>> = {
  prometheus: {
    title: 'Prometheus',
    programs: ['prometheus'],
    variable: 'SVCNET_PROMETHEUS',
    image: 'prom/prometheus:v3.5.0',
    remedy:
      'Debian and Ubuntu have it: apt-get install prometheus. Or download it from https://prometheus.io/download, or start Docker.',
  },
  grafana: {
    title: 'Grafana',
    programs: ['grafana', 'grafana-server'],
    variable: 'SVCNET_GRAFANA',
    image: 'grafana/grafana:12.1.0',
    remedy: 'Download it from https://grafana.com/grafana/download, or start Docker.',
  },
};

/**
 * From the flag, the variable or the path.
 * @returns undefined: none @throws HarnessError `BINARY_INVALID` when a named one cannot run
 */
export function findProgram(
  name: ServerName,
  flag: string | undefined,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  const { programs, variable } = SERVERS[name];
  const fromVariable = environment[variable];
  if (flag !== undefined) return checked(flag, `--${name}`);
  if (fromVariable !== undefined && fromVariable !== '') return checked(fromVariable, variable);
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return programs.flatMap((program) => folders.map((folder) => join(folder, program))).find(isRunnable);
}

function checked(path: string, where: string): string {
  if (isRunnable(path)) return path;
  throw new HarnessError(
    'BINARY_INVALID',
    `${where}: ${existsSync(path) ? `'${path}' is not a program that can be run` : `no such file '${path}'`}`,
  );
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Missing, or not executable.
    return false;
  }
}

/** Where packages put Grafana's own files. */
const GRAFANA_PACKAGED = '/usr/share/grafana';

/**
 * Grafana's own files.
 * @throws HarnessError `BINARY_INVALID` when there are none
 */
export function grafanaHome(program: string, packaged = GRAFANA_PACKAGED): string {
  const beside = dirname(dirname(realpathSync(program)));
  const home = [beside, packaged].find((folder) => existsSync(join(folder, 'public')));
  if (home !== undefined) return home;
  throw new HarnessError(
    'BINARY_INVALID',
    `Grafana's own files are neither in ${beside} nor in ${packaged}: found no folder 'public' there`,
    { hint: 'Unpack its archive as a whole, and name bin/grafana inside of it.' },
  );
}
