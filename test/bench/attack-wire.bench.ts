/**
 * What attacks on the p2p port cost: the time in which an honest client's 4 KiB go to the node and come back, beside the
 * same without an attack; the node's memory and processor time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { WIRE_ATTACKS } from './attack-wire.ts';
import { anonymousMib, cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'A node of three under attack on its p2p port, round trips of 4 KiB';

const SIZE = 4096;
const PHASE_MS = 3_500;
const PAUSE_MS = 10;
/** After which the node has taken up the attack. */
const LEAD_MS = 500;

export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({ nodes: 3, seed: 7, stateDir });
  try {
    const node = cluster.node(0);
    const target = { underlay: node.underlay, networkId: cluster.chain.networkId, batch: node.batch ?? '' };
    // The first round trips run cold code.
    await phase(cluster, node, 'warm');
    const quiet = await phase(cluster, node, 'quiet');
    const results = rows('quiet', quiet);
    for (const attack of WIRE_ATTACKS) {
      const running = await attack.start(target);
      await pause(LEAD_MS);
      const found = await phase(cluster, node, attack.name);
      const { sessions, sent, answered } = await running.stop();
      results.push(...rows(attack.name, found, quiet));
      results.push({ name: `${attack.name}: connections taken for peers`, value: sessions, unit: '' });
      results.push({ name: `${attack.name}: sent`, value: sent, unit: '' });
      results.push({ name: `${attack.name}: answered`, value: answered, unit: '' });
    }
    return results;
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

interface Phase {
  /** ms. */
  readonly p50: number;
  readonly p95: number;
  /** The largest of the samples after each round trip. */
  readonly mib: number;
  /** Of one core, percent. */
  readonly cpu: number;
}

async function phase(cluster: Cluster, node: ClusterNode, seed: string): Promise<Phase> {
  const random = seededRandom(`attack ${seed}`);
  const times: number[] = [];
  let mib = 0;
  const cpuBefore = cpuMicroseconds({ nodes: [node] });
  const begun = performance.now();
  while (performance.now() - begun < PHASE_MS) {
    const data = random.bytes(SIZE);
    const at = performance.now();
    const { reference } = await node.bytes.upload(data);
    const back = await node.bytes.download(reference);
    times.push(performance.now() - at);
    if (Buffer.compare(back, data) !== 0) throw new Error(`${cluster.name}: other bytes came back`);
    if (node.pid !== undefined) mib = Math.max(mib, anonymousMib(node.pid));
    await pause(PAUSE_MS);
  }
  const cpu = (cpuMicroseconds({ nodes: [node] }) - cpuBefore) / ((performance.now() - begun) * 10);
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), mib, cpu };
}

function rows(what: string, { p50, p95, mib, cpu }: Phase, quiet?: Phase): BenchResult[] {
  const compared = quiet === undefined ? {} : { baseline: 'quiet', ratio: p95 / quiet.p95 };
  return [
    { name: `${what}: round trip, p50`, value: p50, unit: 'ms' },
    { name: `${what}: round trip, p95`, value: p95, unit: 'ms', ...compared },
    { name: `${what}: memory`, value: mib, unit: 'MiB' },
    { name: `${what}: processor`, value: cpu, unit: '%' },
  ];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
