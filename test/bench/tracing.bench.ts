/**
 * Processor time of all nodes per chunk, uploaded, pushed and read by another node. The receiver, in this process, is not
 * counted.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { paired } from './paired.ts';
import { cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Traces of 2 MiB through three nodes';

const SIZE = 2 * 2 ** 20;
const CHUNKS = Math.ceil(SIZE / 4096) * (129 / 128);
const ROUNDS = 9;
const OFF = 'no traces';
const WAYS = [
  { name: OFF, options: {} },
  { name: 'one trace of a hundred', options: { 'tracing-enable': true, 'tracing-sampling-ratio': 0.01 } },
  { name: 'every trace', options: { 'tracing-enable': true } },
] as const;

export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  await using receiver = await discarding();
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
    const first = round % contenders.length;
    for (const { cluster, costs } of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      const cost = await costOf(cluster, random.bytes(SIZE));
      // The first one warms up.
      if (round > 0) costs.push(cost);
    }
  }
  const [off, ...traced] = contenders;
  const place = (round: number, index: number) =>
    (index - (round % contenders.length) + contenders.length) % contenders.length;
  return [
    ...contenders.map(({ name: title, costs }) => ({
      name: `CPU per chunk, ${title}`,
      value: median(costs),
      unit: 'µs',
    })),
    ...traced.flatMap(({ name: title, costs }, i) =>
      paired(
        `CPU with ${title}, of ${OFF}`,
        costs.map((cost, n) => ({
          ratio: cost / (off?.costs[n] as number),
          turned: place(n + 1, i + 1) < place(n + 1, 0),
        })),
      ),
    ),
  ];
}

/** Forgets traces: nodes do not pay for what a receiver makes of them. */
async function discarding(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
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
