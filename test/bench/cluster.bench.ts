import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { anonymousMib, cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Start and stop of a cluster of five nodes';

const NODES = 5;

/** Cold: no compile cache, as in a fresh clone. Warm: as every time after the first. */
export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  try {
    const cold = await startAndStop(stateDir);
    const warm = await startAndStop(stateDir);
    return [
      ...cold.map((figure) => ({ ...figure, name: `cold: ${figure.name}` })),
      ...warm.map((figure, i) => {
        const before = cold[i] as BenchResult;
        return {
          ...figure,
          name: `warm: ${figure.name}`,
          baseline: 'cold',
          ratio: figure.value / before.value,
        };
      }),
    ];
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function startAndStop(stateDir: string): Promise<BenchResult[]> {
  const cluster = await Cluster.start({ nodes: NODES, seed: 7, stateDir });
  const { chainMs, nodesMs, meshedMs, batchUsableMs, totalMs } = cluster.timings;
  const cpu = cpuMicroseconds(cluster) / NODES / 1000;
  const memory = cluster.nodes.reduce((sum, { pid = 0 }) => sum + anonymousMib(pid), 0) / NODES;
  const stopping = performance.now();
  await cluster.stop();
  const figures = {
    chain: chainMs,
    nodes: nodesMs,
    mesh: meshedMs,
    'batches usable': batchUsableMs,
    'usable in all': totalMs,
    stop: performance.now() - stopping,
  };
  return [
    ...Object.entries(figures).map(([figure, value]) => ({ name: figure, value, unit: 'ms' })),
    { name: 'CPU of a node until all is usable', value: cpu, unit: 'ms' },
    { name: 'memory of a node then', value: memory, unit: 'MiB' },
  ];
}
