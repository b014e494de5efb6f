import { HarnessError } from '../base/errors.ts';
import { renderTable } from '../base/terminal/table.ts';
import { typed } from '../base/typed.ts';
import { downLines } from '../cluster/lifecycle/again.ts';
import { type ClusterState, stateOf } from '../cluster/lifecycle/drivers.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import { type ClusterRecord, findCluster, listClusters, readableRecord } from '../cluster/state/state.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { activeFaults } from './fault.ts';
import { clusterHeadline, nodesTable } from './nodes-table.ts';
import { onCluster } from './on-cluster.ts';

export async function ps(flags: ClusterFlags & { wide?: boolean }, context: CommandContext): Promise<void> {
  const names = listClusters(context.stateDir);
  if (flags.name === undefined && names.length !== 1) {
    const clusters = await clustersOf(names, context);
    answer(context, { clusters }, clusterTable(clusters, context));
    return;
  }
  await onCluster(flags, context, async (cluster) => {
    const alive =
      !DRIVER_FACTS[cluster.driver].owned ||
      cluster.nodes.some(({ state }) => state === 'running' || state === 'paused');
    const faults = await cluster.faults.list();
    answer(context, { ...cluster.toJSON(), faults }, [
      ...clusterHeadline(cluster, context),
      ...nodesTable(cluster, context, { wide: flags.wide ?? false, state: true }),
      ...activeFaults(faults),
      ...(alive ? [] : await deadLines(cluster.name, context)),
    ]);
  });
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
  /** `unknown`: the container engine does not answer. */
  readonly state: ClusterState | 'unknown';
  readonly driver: string;
  readonly nodes: number;
  /** A decimal string beyond JSON numbers; `null` for attached networks. */
  readonly seed: number | string | null;
  /** ISO 8601. */
  readonly startedAt: string;
}

function clustersOf(names: readonly string[], context: CommandContext): Promise<ClusterRow[]> {
  const { stateDir, note } = context;
  const records = names
    .map((name) => readableRecord(stateDir, name, (reason) => note(`  ${name}: ${reason.message}\n`)))
    .filter((record) => record !== undefined);
  return Promise.all(
    records.map(async (record) => ({
      name: record.name,
      state: await stateIfKnown(record, context),
      driver: record.driver,
      nodes: record.nodes.length,
      seed: record.seed === undefined ? null : seedToJson(BigInt(record.seed)),
      startedAt: new Date(record.createdAt).toISOString(),
    })),
  );
}

/** An engine that does not answer must not hide the other clusters. */
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
  return renderTable(COLUMNS, rows, width).lines;
}
