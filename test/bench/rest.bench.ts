import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { parseExposition } from '../../harness/metrics/exposition.ts';
import { cpuMicroseconds, descendantsMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'A cluster at rest: twenty nodes that nobody uses, each a process';

const NODES = 20;
/** Pauses between rounds of looks at all peers double up to a minute: by then they have. */
const SETTLING_MS = 75_000;
/** Two such pauses: one alone would count a round whole or not at all. */
const MEASURED_MS = 120_000;

/** Processor time of the nodes and their chain alone. */
export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({ nodes: NODES, seed: 7, stateDir, timeoutMs: 300_000 });
  try {
    await pause(SETTLING_MS);
    // To answer is not to be at rest.
    const before = await counters(cluster);
    const from = used(cluster);
    await pause(MEASURED_MS);
    const to = used(cluster);
    const after = await counters(cluster);
    const seconds = MEASURED_MS / 1000;
    const share = (microseconds: number) => (microseconds / 1e6 / seconds) * 100;
    return [
      { name: 'all nodes and the chain', value: share(to.all - from.all), unit: '% of a core' },
      { name: 'all nodes', value: share(to.nodes - from.nodes), unit: '% of a core' },
      {
        name: 'streams that a node opens',
        value: (after.streams - before.streams) / NODES / seconds,
        unit: 'per second',
      },
      {
        name: 'calls to the chain of a node',
        value: (after.calls - before.calls) / NODES / seconds,
        unit: 'per second',
      },
    ];
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

/** Processor time so far, microseconds. */
function used(cluster: Cluster) {
  return { all: descendantsMicroseconds(), nodes: cpuMicroseconds(cluster) };
}

async function counters(cluster: Cluster) {
  const expositions = await Promise.all(
    cluster.nodes.map(async ({ api }) => parseExposition(await (await fetch(`${api}/metrics`)).text())),
  );
  const total = (metric: string) =>
    expositions
      .flatMap(({ samples }) => samples)
      .filter((sample) => sample.name === metric)
      .reduce((sum, { value }) => sum + value, 0);
  return {
    streams: total('svc_libp2p_created_stream_count'),
    calls: total('svc_eth_backend_total_rpc_calls'),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
