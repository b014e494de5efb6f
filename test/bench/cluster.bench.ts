import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Started } from './cluster-process.ts';
import type { BenchResult } from './result.ts';

export const name = 'Start and stop of clusters, from the call until all is usable, by driver and size';

const PROGRAM = join(import.meta.dirname, 'cluster-process.ts');
/** Fifty processes do not mesh on two cores within their deadline. */
const SIZES = { process: [5, 20], embedded: [5, 10, 20, 50], docker: [5] } as const;
const withDocker = spawnSync('docker', ['version']).status === 0;
const DRIVERS = withDocker
  ? (['process', 'embedded', 'docker'] as const)
  : (['process', 'embedded'] as const);

/**
 * Cold: no compile cache, as in a fresh clone. First: in a new process, as in every later test file. Warm: in a process that
 * has had a cluster.
 */
export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const rows: BenchResult[] = [];
  const baseline = new Map<string, number>();
  const add = (what: string, figure: string, value: number, unit: string) => {
    const before = baseline.get(`${what} ${figure}`);
    rows.push({
      name: `${what}: ${figure}`,
      value,
      unit,
      ...(before === undefined ? {} : { baseline: 'processes', ratio: value / before }),
    });
  };
  try {
    for (const driver of DRIVERS) {
      const [cold] = await starts(driver, 5, 1, stateDir);
      add(`${driver}, 5 nodes, cold`, 'usable', cold?.totalMs ?? Number.NaN, 'ms');
      for (const nodes of SIZES[driver]) {
        const started = await starts(driver, nodes, nodes > 20 ? 1 : 3, stateDir);
        const [first, ...warm] = started;
        if (first === undefined)
          throw new Error(`no start of ${nodes} nodes (${driver}) has come to its end`);
        const size = `${driver}, ${nodes} nodes`;
        const shown: [string, number, string][] = [
          ['usable, first', first.totalMs, 'ms'],
          ...(warm.length === 0
            ? []
            : ([['usable, warm', least(warm, 'totalMs'), 'ms']] as [string, number, string][])),
          ['chain', least(started, 'chainMs'), 'ms'],
          ['nodes ready', least(started, 'nodesMs'), 'ms'],
          ['mesh', least(started, 'meshedMs'), 'ms'],
          ['batches usable', least(started, 'batchUsableMs'), 'ms'],
          ['stop', least(started, 'stopMs'), 'ms'],
          ['CPU per node', least(started, 'cpuMs'), 'ms'],
          ['memory per node', first.mib, 'MiB'],
        ];
        for (const [figure, value, unit] of shown) {
          add(size, figure, value, unit);
          if (driver !== 'process') continue;
          for (const other of ['embedded', 'docker'])
            baseline.set(`${other}, ${nodes} nodes ${figure}`, value);
        }
      }
    }
    return rows;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

function least(starts: readonly Started[], of: keyof Started): number {
  return Math.min(...starts.map((start) => start[of]));
}

async function starts(driver: string, nodes: number, rounds: number, stateDir: string): Promise<Started[]> {
  const args = ['--expose-gc', PROGRAM, driver, String(nodes), String(rounds), stateDir];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`a start of ${nodes} nodes (${driver}) ended with ${String(code)}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Started);
}
