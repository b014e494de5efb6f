import { HarnessError, throwIfInterrupted } from '../base/errors.ts';
import { renderTable } from '../base/terminal/table.ts';
import { typed } from '../base/typed.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { downLines, elsewhereLines } from '../cluster/lifecycle/again.ts';
import { type ClusterState, isElsewhere, simulatingProcess, stateOf } from '../cluster/lifecycle/drivers.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import {
  type ClusterRecord,
  findCluster,
  listClusters,
  readableRecord,
  whyNotOurs,
} from '../cluster/state/state.ts';
import { ANSWER_LIMIT_MS, replyOf } from '../inspect/status/ask.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { activeFaults } from './fault.ts';
import { clusterHeadline, nodesTable } from './nodes-table.ts';
import { onCluster } from './on-cluster.ts';

export async function ps(flags: ClusterFlags & { wide?: boolean }, context: CommandContext): Promise<void> {
  const names = listClusters(context.stateDir);
  const only = flags.name ?? (names.length === 1 ? names[0] : undefined);
  if (only === undefined || cannotBeAsked(only, context)) {
    const clusters = await clustersOf(only === undefined ? names : [only], context);
    answer(context, { clusters }, clusterTable(clusters, context));
    return;
  }
  await onCluster(flags, context, async (cluster) => {
    const alive =
      !DRIVER_FACTS[cluster.driver].owned ||
      cluster.nodes.some(({ state }) => state === 'running' || state === 'paused');
    const [faults, versions] = await Promise.all([
      cluster.faults.list(),
      versionsOf(cluster, context.signal),
    ]);
    const document = cluster.toJSON();
    const nodes = document.nodes.map((node) => ({ ...node, version: versions.get(node.name) ?? null }));
    answer(context, { ...document, nodes, faults }, [
      ...clusterHeadline(cluster, context),
      ...nodesTable(cluster, context, { wide: flags.wide ?? false, state: true, versions }),
      ...activeFaults(faults),
      ...(alive ? [] : await deadLines(cluster.name, context)),
    ]);
  });
}

/** Cannot be asked from here, and why is said. @throws HarnessError `CLUSTER_NOT_FOUND` */
function cannotBeAsked(named: string, { stateDir, note }: CommandContext): boolean {
  const record = findCluster(stateDir, named);
  if (isElsewhere(record)) return true;
  const why = whyNotOurs(stateDir, record.name);
  if (why !== undefined) note(`  ${why}\n`);
  return why !== undefined;
}

/** Versions that running nodes report; silent ones have none. */
async function versionsOf({ nodes, clock }: Cluster, signal: AbortSignal): Promise<Map<string, string>> {
  using limit = clock.deadline(ANSWER_LIMIT_MS, signal);
  const running = nodes.filter(({ state }) => state === 'running');
  const replies = await Promise.all(running.map((node) => replyOf(node.client.health(limit.signal))));
  throwIfInterrupted(signal);
  return new Map(
    running.flatMap(({ name }, i) => {
      const reply = replies[i];
      return reply !== undefined && 'value' in reply ? [[name, reply.value.version] as const] : [];
    }),
  );
}

async function deadLines(name: string, { stateDir }: CommandContext): Promise<readonly string[]> {
  const record = findCluster(stateDir, name);
  return (await stateOf(stateDir, record)) === 'gone'
    ? downLines(stateDir, record)
    : [`  no node is running; remove the cluster with: svcnet down --name ${name}`];
}

const COLUMNS = [
  { title: 'cluster', rank: 0 },
  { title: 'state', rank: 0 },
  { title: 'driver', rank: 2 },
  { title: 'nodes', rank: 1, align: 'right' },
  { title: 'seed', rank: 2, align: 'right' },
  { title: 'started', rank: 3 },
] as const;

interface ClusterRow {
  readonly name: string;
  /** `unknown`: the container engine is silent. */
  readonly state: ClusterState | 'unknown';
  readonly driver: string;
  readonly nodes: number;
  /** Decimal string beyond JSON numbers; `null`: attached. */
  readonly seed: number | string | null;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly simulatedBy?: number;
}

function clustersOf(names: readonly string[], context: CommandContext): Promise<ClusterRow[]> {
  const { stateDir, note } = context;
  const records = names
    .map((name) => readableRecord(stateDir, name, (reason) => note(`  ${name}: ${reason.message}\n`)))
    .filter((record) => record !== undefined);
  return Promise.all(
    records.map(async (record) => {
      const simulatedBy = simulatingProcess(record);
      for (const line of elsewhereLines(record)) note(`${line}\n`);
      return {
        name: record.name,
        state: await stateIfKnown(record, context),
        driver: record.driver,
        nodes: record.nodes.length,
        seed: record.seed === undefined ? null : seedToJson(BigInt(record.seed)),
        startedAt: new Date(record.createdAt).toISOString(),
        ...(simulatedBy === undefined ? {} : { simulatedBy }),
      };
    }),
  );
}

/** A silent engine must not hide the other clusters. */
async function stateIfKnown(
  record: ClusterRecord,
  { stateDir, note }: CommandContext,
): Promise<ClusterRow['state']> {
  try {
    return await stateOf(stateDir, record);
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'ENGINE_FAILED') throw error;
    note(`  ${record.name}: ${error.message}\n`);
    return 'unknown';
  }
}

function clusterTable(clusters: readonly ClusterRow[], { width }: CommandContext): readonly string[] {
  if (clusters.length === 0) return [`  no clusters; start one with: ${typed('up')}`];
  const rows = clusters.map(({ name, state, driver, nodes, seed, startedAt }) => [
    name,
    state,
    driver,
    String(nodes),
    String(seed ?? '-'),
    startedAt.slice(0, 19).replace('T', ' '),
  ]);
  const simulated = clusters.flatMap(({ name, simulatedBy }) =>
    simulatedBy === undefined
      ? []
      : [`  ${name} runs in virtual time in process ${simulatedBy}, which alone reaches its nodes`],
  );
  return [...renderTable(COLUMNS, rows, width).lines, ...simulated];
}
