import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { BenchResult } from './result.ts';

export const name =
  'Snapshots of five nodes with 4 MiB of content and 400 blocks: saving, and starting from one';

const NODES = 5;
const ROUNDS = 3;
const UPLOAD_BYTES = 4 * 2 ** 20;
const BLOCKS = 400;

export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  try {
    const rows: BenchResult[] = [];
    for (const driver of ['process', 'embedded'] as const) {
      const fresh = await timed(() => Cluster.start({ stateDir, driver, nodes: NODES, seed: 7 }));
      const net = fresh.result;
      const { tag } = await net.node(0).bytes.upload(randomBytes(UPLOAD_BYTES));
      await net.synced({ node: 0, tag: tag as number });
      await net.chain.mine(BLOCKS);
      const saved = await timed(() => net.saveSnapshot(driver));
      await net.stop();
      const starts: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const { result, ms } = await timed(() => Cluster.start({ stateDir, snapshot: driver }));
        starts.push(ms);
        await result.stop();
      }
      rows.push(
        { name: `${driver}: save, until the nodes are connected again`, value: saved.ms, unit: 'ms' },
        { name: `${driver}: size`, value: saved.result.sizeBytes / 2 ** 20, unit: 'MiB' },
        { name: `${driver}: start without a snapshot`, value: fresh.ms, unit: 'ms' },
        { name: `${driver}: start from a snapshot`, value: Math.min(...starts), unit: 'ms' },
      );
    }
    return rows;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const startedAt = performance.now();
  const result = await work();
  return { result, ms: performance.now() - startedAt };
}
