import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'A file of 32 MiB through five nodes';

const SIZE = 32 * 2 ** 20;
const CHUNKS = Math.ceil(SIZE / 4096) * (129 / 128);
/** Four of five nodes hold a chunk or ask one that does. */
const LINKS_PER_FETCH = 1;

/** Megabytes are 10^6 bytes. CPU is that of all five processes: both ends of every link. */
export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({ nodes: 5, seed: 7, stateDir });
  try {
    const data = seededRandom('throughput').bytes(SIZE);
    const results: BenchResult[] = [];
    const node = cluster.node(0);
    const accepted = await timed(cluster, () => node.bytes.upload(data));
    results.push(rate('upload, answered', accepted.ms));
    const tag = accepted.result.tag as number;
    const synced = await timed(cluster, () => cluster.synced({ node: node.name, tag }));
    const pushMs = accepted.ms + synced.ms;
    results.push(rate('upload, taken by the network', pushMs));
    results.push({ name: 'chunks pushed', value: CHUNKS / (pushMs / 1000), unit: '/s' });
    const perPush = (accepted.cpu + synced.cpu) / CHUNKS;
    results.push({ name: 'CPU per chunk uploaded and pushed', value: perPush, unit: 'µs' });
    for (const reader of cluster.nodes.slice(1)) {
      const read = await timed(cluster, () =>
        reader.bytes.download(accepted.result.reference, { cache: false }),
      );
      if (Buffer.compare(read.result, data) !== 0) throw new Error(`${reader.name} served other bytes`);
      results.push(rate(`download from ${reader.name}`, read.ms));
      const unit = 'µs';
      results.push({
        name: `CPU per chunk and link of a download from ${reader.name}`,
        value: read.cpu / CHUNKS / LINKS_PER_FETCH,
        unit,
      });
    }
    return results;
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function timed<T>(
  cluster: Cluster,
  work: () => Promise<T>,
): Promise<{ result: T; ms: number; cpu: number }> {
  const cpu = cpuMicroseconds(cluster);
  const start = performance.now();
  const result = await work();
  return { result, ms: performance.now() - start, cpu: cpuMicroseconds(cluster) - cpu };
}

function rate(what: string, ms: number): BenchResult {
  return { name: what, value: SIZE / 1e6 / (ms / 1000), unit: 'MB/s' };
}
