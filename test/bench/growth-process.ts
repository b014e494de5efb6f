/**
 * Starts one cluster, watches it at rest and at work, and prints a line of JSON: `node --expose-gc growth-process.ts DRIVER
 * NODES LIMIT_MS STATE`.
 */

import { seededRandom } from '../../formats/random.ts';
import { messageOf } from '../../harness/base/errors.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { parseExposition } from '../../harness/metrics/exposition.ts';
import type { StartingDriver } from '../../harness/places/facts.ts';
import { anonymousMib, cpuMicroseconds } from './processes.ts';

/** Processor time is that of the nodes and of the testbed, without the chain. */
export interface Grown {
  readonly startS: number;
  readonly meshS: number;
  /** Until usable. */
  readonly cpuS: number;
  /** Per node, not backed by files. */
  readonly mib: number;
  readonly peers: number;
  readonly streams: number;
  readonly records: number;
  /** All nodes, share of one core in percent. */
  readonly idlePercent: number;
  /** Taken by the network. */
  readonly uploadMbS: number;
  readonly downloadMbS: number;
}

export type Outcome = Grown | { readonly failed: string };

const UPLOAD_SIZE = 4 * 2 ** 20;
/** By then the first health checks and the first full collection are over. */
const SETTLE_MS = 40_000;
const IDLE_MS = 5000;

const [driver, nodes, limitMs, stateDir = ''] = process.argv.slice(2);
try {
  say(await grow(driver as StartingDriver, Number(nodes)));
} catch (error) {
  say({ failed: messageOf(error) });
}

function say(outcome: Outcome): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}

async function grow(of: StartingDriver, count: number): Promise<Grown> {
  const embedded = of === 'embedded';
  globalThis.gc?.();
  const mibBefore = anonymousMib(process.pid);
  const cpuBefore = ownCpuS();
  const called = performance.now();
  await using net = await Cluster.start({
    nodes: count,
    seed: 7,
    driver: of,
    stateDir,
    timeoutMs: Number(limitMs),
  });
  const startS = (performance.now() - called) / 1000;
  const nodesCpuS = () => (embedded ? ownCpuS() : cpuMicroseconds(net) / 1e6);
  const cpuS = ownCpuS() - cpuBefore + (embedded ? 0 : nodesCpuS());
  await sleep(SETTLE_MS);
  const met = await countsOf(net);
  const rest = { atMs: performance.now(), cpuS: nodesCpuS() };
  await sleep(IDLE_MS);
  const idleS = (performance.now() - rest.atMs) / 1000;
  const idlePercent = ((nodesCpuS() - rest.cpuS) / idleS) * 100;
  globalThis.gc?.();
  const mib = embedded
    ? anonymousMib(process.pid) - mibBefore
    : net.nodes.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : anonymousMib(pid)), 0);
  const moved = await move(net);
  return {
    startS,
    meshS: net.timings.meshedMs / 1000,
    cpuS,
    mib: mib / count,
    ...met,
    idlePercent,
    ...moved,
  };
}

function ownCpuS(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

async function countsOf(net: Cluster): Promise<Pick<Grown, 'peers' | 'streams' | 'records'>> {
  const texts = await Promise.all(net.nodes.map((node) => node.client.metrics()));
  const samples = texts.flatMap((text) => parseExposition(text).samples);
  const perNode = (name: string) => {
    const found = samples.filter((sample) => sample.name === name);
    if (found.length === 0) throw new Error(`no node has the metric ${name}`);
    return found.reduce((sum, { value }) => sum + value, 0) / net.nodes.length;
  };
  return {
    peers: perNode('svc_kademlia_currently_connected_peers'),
    streams: perNode('svc_libp2p_created_stream_count'),
    records: perNode('svc_hive_broadcast_peers_peer_count'),
  };
}

async function move(net: Cluster): Promise<Pick<Grown, 'uploadMbS' | 'downloadMbS'>> {
  const data = seededRandom('growth').bytes(UPLOAD_SIZE);
  const uploader = net.node(0);
  const reader = net.node(net.nodes.length - 1);
  const sending = performance.now();
  const { reference, tag } = await uploader.bytes.upload(data);
  await net.synced({ node: uploader.name, tag: tag as number });
  const sent = performance.now();
  const received = await reader.bytes.download(reference, { cache: false });
  const receivedMs = performance.now() - sent;
  if (Buffer.compare(received, data) !== 0) throw new Error(`${reader.name} served other bytes`);
  return { uploadMbS: rate(sent - sending), downloadMbS: rate(receivedMs) };
}

function rate(ms: number): number {
  return UPLOAD_SIZE / 1e6 / (ms / 1000);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
