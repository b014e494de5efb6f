/**
 * What traces cost: processor time of all nodes per chunk, uploaded, pushed and read by another node. The receiver is in
 * this process and is not counted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { seededRandom } from '../../harness/run/scenario.ts';
import { otlpReceiver } from '../cluster/node/otlp-receiver.ts';
import { cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Traces of 8 MiB through three nodes';

const SIZE = 8 * 2 ** 20;
const CHUNKS = Math.ceil(SIZE / 4096) * (129 / 128);
/** In turns, so that other load hits all alike. */
const ROUNDS = 5;
const OFF = 'no traces';
const WAYS = [
  { name: OFF, options: {} },
  { name: 'one trace of a hundred', options: { 'tracing-enable': true, 'tracing-sampling-ratio': 0.01 } },
  { name: 'every trace', options: { 'tracing-enable': true } },
] as const;

export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  await using receiver = await otlpReceiver();
  await using clusters = new AsyncDisposableStack();
  clusters.defer(() => rmSync(stateDir, { recursive: true, force: true }));
  const contenders: { name: string; cluster: Cluster; costs: number[] }[] = [];
  for (const [index, { name: title, options }] of WAYS.entries()) {
    const nodes = [{ count: 3, options: { ...options, 'tracing-endpoint': receiver.url } }];
    const cluster = await Cluster.start({ nodes, seed: 7, name: `traces-${index}`, stateDir });
    clusters.use(cluster);
    contenders.push({ name: title, cluster, costs: [] });
  }
  const random = seededRandom('tracing');
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { cluster, costs } of contenders) {
      const cost = await costOf(cluster, random.bytes(SIZE));
      // The first one warms up.
      if (round > 0) costs.push(cost);
    }
  }
  const medians = new Map(contenders.map(({ name: title, costs }) => [title, median(costs)]));
  const baseline = medians.get(OFF) as number;
  return [...medians].map(([title, value]) => ({
    name: `CPU per chunk, ${title}`,
    value,
    unit: 'µs',
    ...(title === OFF ? {} : { ratio: value / baseline, baseline: OFF }),
  }));
}

/** Microseconds per chunk. */
async function costOf(cluster: Cluster, data: Uint8Array): Promise<number> {
  const before = cpuMicroseconds(cluster);
  const { reference } = await cluster.node(0).bytes.upload(data);
  await cluster.synced(reference);
  await cluster.node(1).bytes.download(reference, { cache: false });
  return (cpuMicroseconds(cluster) - before) / CHUNKS;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}
