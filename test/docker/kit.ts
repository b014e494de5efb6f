import { spawnSync } from 'node:child_process';
import Docker from 'dockerode';
import { until } from '../../harness/scenario.ts';

export const docker = new Docker();

export const MB = 1e6;
export const IMAGE_MB_MAX = 250;

export async function leftOf(cluster: string): Promise<string[]> {
  const filters = { label: [`svcnet.name=${cluster}`] };
  const [containers, networks, { Volumes: volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listNetworks({ filters }),
    docker.listVolumes({ filters }),
  ]);
  return [
    ...containers.map(({ Names }) => `container ${Names[0]}`),
    ...networks.map(({ Name }) => `network ${Name}`),
    ...(volumes ?? []).map(({ Name }) => `volume ${Name}`),
  ];
}

/** Everything here should have failed. */
const BREAK_OUT = `
  const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
  const tried = (work) => { try { return work() ?? 'done'; } catch (error) { return error.code; } };
  const under = (folder) => tried(() => readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map(({ parentPath, name }) => parentPath + '/' + name));
  const status = Object.fromEntries(readFileSync('/proc/self/status', 'utf8').split('\\n').map((line) => line.split(/:\\s*/)));
  process.stdout.write(JSON.stringify({
    root: tried(() => writeFileSync('/app/mark', '')),
    temporary: tried(() => writeFileSync('/tmp/mark', '')),
    user: tried(() => process.setuid(0)),
    other: tried(() => process.setuid(1001)),
    keys: [under('/data'), under('/volumes')].flat().filter((path) => /[.]key$|network[.]yaml$|chain[.]json$/.test(path)),
    uid: process.getuid(),
    capabilities: [status.CapEff, status.CapBnd],
    gainsNone: status.NoNewPrivs,
  }));`;

export interface BreakOut {
  /** `done`, or the code of the error. */
  readonly root: string;
  readonly temporary: string;
  readonly user: string;
  readonly other: string;
  readonly keys: readonly string[];
}

/** @param container of the image of this package @returns what went wrong there, and the files with secrets that it sees */
export function breakOut(container: string): BreakOut {
  const run = spawnSync('docker', ['exec', container, 'node', '-e', BREAK_OUT], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`${container}: ${run.stderr}`);
  return JSON.parse(run.stdout) as BreakOut;
}

/** Whichever engine runs the network. */
export const CONFINED = {
  root: 'EROFS',
  temporary: 'done',
  user: 'EPERM',
  other: 'EPERM',
  uid: 1000,
  capabilities: ['0000000000000000', '0000000000000000'],
} as const;

export function eventually(what: string, probe: () => Promise<string | undefined>): Promise<true> {
  return until<true>(
    what,
    async () => {
      const missing = await probe();
      return missing === undefined ? { done: true } : { missing };
    },
    { timeoutMs: 120_000 },
  );
}
