import { cpus } from 'node:os';
import { MACHINE_CLOCK } from '../../../base/machine/clock.ts';
import { processUsage } from '../../../base/machine/usage.ts';
import type { Cluster } from '../../../cluster/cluster.ts';
import type { ClusterNode } from '../../../cluster/nodes/cluster-node.ts';
import { parseExposition } from '../../../metrics/exposition.ts';
import type { LoadObservation, NodeLoad } from './limiter.ts';

const ANSWER_MS = 5000;
const COUNTERS = {
  creditRefusals: ['accounting_accounting_blocks_count', 'pushsync_overdraft_refresh'],
  creditWait: ['accounting_credit_wait_seconds'],
  queued: ['pusher_total_to_push'],
  synced: ['pusher_total_synced'],
  chainErrors: ['eth_backend_total_rpc_errors'],
} as const;
type Counter = keyof typeof COUNTERS;

interface NodeSample {
  /** Undefined where nodes share a process. */
  readonly cpuMs: number | undefined;
  /** Undefined for a node that does not answer. */
  readonly counters: Readonly<Record<Counter, number>> | undefined;
}

interface SharedSample {
  readonly pid: number;
  readonly nodes: readonly string[];
  readonly cpuMs: number;
}

export interface Sample {
  readonly atMs: number;
  readonly nodes: ReadonlyMap<string, NodeSample>;
  readonly shared: readonly SharedSample[];
  readonly ownMs: number;
  /** All cores since the machine started, ms. */
  readonly busyMs: number;
  readonly totalMs: number;
}

export async function sampleOf(cluster: Cluster): Promise<Sample> {
  const running = cluster.nodes.filter((node) => node.running);
  using limit = cluster.clock.deadline(ANSWER_MS);
  const nodes = await Promise.all(
    running.map(async (node) => [node.name, await nodeSample(node, limit.signal)] as const),
  );
  const times = cpus().map(({ times: { user, nice, sys, irq, idle } }) => ({
    busy: user + nice + sys + irq,
    idle,
  }));
  const busyMs = times.reduce((sum, { busy }) => sum + busy, 0);
  const { user: ownUser, system: ownSystem } = process.cpuUsage();
  return {
    atMs: MACHINE_CLOCK.monotonic(),
    ownMs: (ownUser + ownSystem) / 1000,
    nodes: new Map(nodes),
    shared: sharedSamples(running),
    busyMs,
    totalMs: times.reduce((sum, { busy, idle }) => sum + busy + idle, 0),
  };
}

function sharedSamples(running: readonly ClusterNode[]): SharedSample[] {
  return [...Map.groupBy(running, ({ pid }) => pid)].flatMap(([pid, held]) => {
    const usage = pid === undefined || held.length < 2 ? undefined : processUsage(pid);
    if (pid === undefined || usage === undefined) return [];
    return [{ pid, nodes: held.map(({ name }) => name), cpuMs: usage.cpuSeconds * 1000 }];
  });
}

/** A node too busy to answer still shows its processor time. */
async function nodeSample(node: ClusterNode, signal: AbortSignal): Promise<NodeSample> {
  const [stats, text] = await Promise.allSettled([node.stats(), node.client.metrics(signal)]);
  return {
    cpuMs: stats.status === 'fulfilled' ? stats.value.cpuMs : undefined,
    counters: text.status === 'fulfilled' ? countersIn(text.value) : undefined,
  };
}

export function countersIn(exposition: string): Readonly<Record<Counter, number>> {
  const { samples } = parseExposition(exposition);
  const sum = (names: readonly string[]) =>
    samples
      .filter(({ name }) => names.includes(name.replace(/^[a-z]+_/, '')))
      .reduce((total, { value }) => total + value, 0);
  return {
    creditRefusals: sum(COUNTERS.creditRefusals),
    creditWait: sum(COUNTERS.creditWait),
    queued: sum(COUNTERS.queued),
    synced: sum(COUNTERS.synced),
    chainErrors: sum(COUNTERS.chainErrors),
  };
}

/** Nodes that do not answer, or have pushed chunks between two moments. */
export function busyNodes(before: Sample, after: Sample): string[] {
  return [...after.nodes]
    .filter(([name, { counters }]) => {
      const then = before.nodes.get(name)?.counters;
      return counters === undefined || (then !== undefined && counters.synced > then.synced);
    })
    .map(([name]) => name);
}

/**
 * @param loadMs duration of the load itself: k6 also needs time to start and end, when nodes do little
 * @param k6Cores as its load reported
 */
export async function observationBetween(
  cluster: Cluster,
  {
    before,
    after,
    loadMs,
    k6Cores,
  }: { before: Sample; after: Sample; loadMs: number; k6Cores: number | undefined },
): Promise<LoadObservation> {
  const ms = Math.max(1, Math.min(loadMs, after.atMs - before.atMs));
  const full = await fullNodes(cluster);
  const nodes = Array.from(after.nodes, ([name, now]): NodeLoad => {
    const then = before.nodes.get(name);
    const grown = (counter: Counter) =>
      Math.max(
        0,
        (now.counters?.[counter] ?? 0) - (then?.counters?.[counter] ?? now.counters?.[counter] ?? 0),
      );
    const cpu = now.cpuMs === undefined || then?.cpuMs === undefined ? undefined : now.cpuMs - then.cpuMs;
    return {
      name,
      cores: cpu === undefined ? undefined : cpu / ms,
      creditRefusals: grown('creditRefusals'),
      creditWaitSeconds: grown('creditWait'),
      queueGrowth: grown('queued') - grown('synced'),
      chainErrors: grown('chainErrors'),
      full: full.has(name),
    };
  });
  const totalMs = after.totalMs - before.totalMs;
  const shared = after.shared.flatMap(({ pid, nodes: held, cpuMs }) => {
    const then = before.shared.find((one) => one.pid === pid);
    return then === undefined ? [] : [{ pid, nodes: held, cpuMs: cpuMs - then.cpuMs }];
  });
  return {
    seconds: ms / 1000,
    nodes,
    shared: shared.map(({ nodes: held, cpuMs }) => ({ nodes: held, cores: cpuMs / ms })),
    machineBusy: totalMs > 0 ? (after.busyMs - before.busyMs) / totalMs : 0,
    cores: cpus().length,
    k6Cores,
    othersCores: othersCores({ before, after, shared, k6Cores }),
    chainMs: await chainAnswerMs(cluster),
  };
}

/** The machine's work minus that of nodes, k6 and this process; the chain does little. */
function othersCores({
  before,
  after,
  shared,
  k6Cores,
}: {
  readonly before: Sample;
  readonly after: Sample;
  readonly shared: readonly {
    readonly pid: number;
    readonly nodes: readonly string[];
    readonly cpuMs: number;
  }[];
  readonly k6Cores: number | undefined;
}): number | undefined {
  const held = new Set(shared.flatMap(({ nodes }) => nodes));
  const alone = [...after.nodes].filter(([name]) => !held.has(name));
  const used = alone.map(([name, { cpuMs }]) => {
    const then = before.nodes.get(name)?.cpuMs;
    return cpuMs === undefined || then === undefined ? undefined : cpuMs - then;
  });
  if (k6Cores === undefined || used.includes(undefined)) return undefined;
  const known = [
    ...used.filter((one) => one !== undefined),
    // Nodes of an embedded cluster are in this very process.
    ...shared.filter(({ pid }) => pid !== process.pid).map(({ cpuMs }) => cpuMs),
    after.ownMs - before.ownMs,
  ].reduce((sum, one) => sum + one, 0);
  const cores = (after.busyMs - before.busyMs - known) / Math.max(1, after.atMs - before.atMs);
  return Math.max(0, cores - k6Cores);
}

/** A Bee does not report it. */
async function fullNodes(cluster: Cluster): Promise<ReadonlySet<string>> {
  const able = cluster.nodes.filter((node) => node.running && node.mode === 'full' && node.flavour === 'svc');
  using limit = cluster.clock.deadline(ANSWER_MS);
  const answers = await Promise.allSettled(able.map((node) => node.client.backlog(limit.signal)));
  return new Set(
    able
      .filter((_, i) => {
        const one = answers[i];
        return one?.status === 'fulfilled' && one.value.reserve.full;
      })
      .map(({ name }) => name),
  );
}

async function chainAnswerMs({ chain, clock }: Cluster): Promise<number | undefined> {
  const startMs = clock.monotonic();
  using limit = clock.deadline(ANSWER_MS);
  const [answer] = await Promise.allSettled([chain.height(limit.signal)]);
  return answer.status === 'fulfilled' ? clock.monotonic() - startMs : undefined;
}
