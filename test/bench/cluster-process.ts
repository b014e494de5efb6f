/**
 * Starts clusters and prints what each start took, a JSON line each: `node --expose-gc cluster-process.ts DRIVER NODES
 * ROUNDS STATE`.
 */
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { StartingDriver } from '../../harness/places/facts.ts';
import { anonymousMib } from './processes.ts';

export interface Started {
  readonly totalMs: number;
  readonly chainMs: number;
  readonly nodesMs: number;
  readonly meshedMs: number;
  readonly batchUsableMs: number;
  readonly stopMs: number;
  /** Per node. */
  readonly cpuMs: number;
  readonly mib: number;
}

const [driver, nodes, rounds, stateDir = ''] = process.argv.slice(2);
const count = Number(nodes);
for (let round = 0; round < Number(rounds); round++) {
  const embedded = driver === 'embedded';
  globalThis.gc?.();
  const before = { mib: anonymousMib(process.pid), cpu: process.cpuUsage() };
  const called = performance.now();
  const net = await Cluster.start({
    nodes: count,
    seed: 7,
    driver: driver as StartingDriver,
    stateDir,
    timeoutMs: 300_000,
  });
  const totalMs = performance.now() - called;
  const own = process.cpuUsage(before.cpu);
  const stats = await Promise.all(net.nodes.map((node) => node.stats()));
  const cpuMs = embedded
    ? (own.user + own.system) / 1000
    : sum(stats.map((used) => used.cpuMs ?? Number.NaN));
  globalThis.gc?.();
  const mib = embedded
    ? anonymousMib(process.pid) - before.mib
    : sum(stats.map((used) => used.memoryBytes ?? Number.NaN)) / 2 ** 20;
  const stopping = performance.now();
  await net.stop();
  const { chainMs, nodesMs, meshedMs, batchUsableMs } = net.timings;
  const started: Started = {
    totalMs,
    chainMs,
    nodesMs,
    meshedMs,
    batchUsableMs,
    stopMs: performance.now() - stopping,
    cpuMs: cpuMs / count,
    mib: mib / count,
  };
  process.stdout.write(`${JSON.stringify(started)}\n`);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
