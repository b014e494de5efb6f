/** `svcnet ps`: the nodes of a cluster, or the clusters when there are several. */
import { Cluster } from '../cluster/cluster.ts';
import { isInUse } from '../cluster/drivers.ts';
import { paint } from '../report/console.ts';
import { type ClusterRecord, listClusters, readRecord } from '../state/state.ts';
import { renderTable } from '../terminal/table.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { nodesTable } from './nodes-table.ts';

export async function ps(flags: ClusterFlags & { wide?: boolean }, context: CommandContext): Promise<void> {
  const names = listClusters(context.stateDir);
  if (flags.name === undefined && names.length !== 1 && !context.json) {
    context.out(`${(await clusterTable(names, context)).join('\n')}\n`);
    return;
  }
  const cluster = await Cluster.attach(flags.name, { stateDir: context.stateDir });
  const { style } = context;
  const alive = cluster.nodes.some((node) => node.pid !== undefined);
  answer(context, cluster.toJSON(), [
    `  ${paint(style, 'bold', cluster.name)}   seed ${cluster.seed} · ${cluster.driver} driver · chain ${cluster.chain.rpc}`,
    ...nodesTable(cluster, context, { wide: flags.wide ?? false, state: true }),
    ...(alive ? [] : [`  its processes are gone; remove it with: svcnet down --name ${cluster.name}`]),
  ]);
  await cluster.detach();
}

const COLUMNS = [
  { title: 'cluster', rank: 0 },
  { title: 'state', rank: 0 },
  { title: 'nodes', rank: 1, align: 'right' },
  { title: 'seed', rank: 2, align: 'right' },
  { title: 'started', rank: 3 },
] as const;

async function clusterTable(
  names: readonly string[],
  { stateDir, width }: CommandContext,
): Promise<string[]> {
  if (names.length === 0) return ['  no cluster; start one with: svcnet up'];
  const records = names.map((name) => readRecord(stateDir, name)).filter((record) => record !== undefined);
  const states = await Promise.all(records.map((record) => stateOf(stateDir, record)));
  const rows = records.map((record, i) => [
    record.name,
    states[i] ?? '',
    String(record.nodes.length),
    record.seed,
    new Date(record.createdAt).toISOString().slice(0, 19).replace('T', ' '),
  ]);
  return [...renderTable(COLUMNS, rows, width).lines];
}

async function stateOf(stateDir: string, record: ClusterRecord): Promise<string> {
  return (await isInUse(stateDir, record)) ? record.phase : 'gone';
}
