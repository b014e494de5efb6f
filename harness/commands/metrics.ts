import { HarnessError, throwIfInterrupted } from '../base/errors.ts';
import { formatMs, grouped, plural } from '../base/format.ts';
import { type Column, renderTable } from '../base/terminal/table.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { readSnapshots } from '../metrics/snapshots.ts';
import { type MetricRow, summarise, type Unit } from '../metrics/summary.ts';
import { formatBytes } from '../report/console.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

const ANSWER_LIMIT_MS = 5000;

export interface MetricsFlags extends ClusterFlags {
  readonly match?: string;
  /** Between readings, milliseconds; default: one reading. */
  readonly rate?: number;
  readonly all?: boolean;
}

interface MetricsDocument {
  readonly name: string;
  readonly at: string;
  /** With values. */
  readonly nodes: readonly string[];
  /** Running nodes without an answer → reason. */
  readonly silent: Readonly<Record<string, string>>;
  /** Nodes that answered only the second reading → reason; no `perSecond` includes them. */
  readonly withoutRate: Readonly<Record<string, string>>;
  readonly metrics: readonly MetricRow[];
}

/** @param which default: all running nodes @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE`, `USAGE` */
export async function metrics(
  which: string | undefined,
  flags: MetricsFlags,
  context: CommandContext,
): Promise<void> {
  await onCluster(flags, context, async (cluster) => {
    const nodes =
      which === undefined ? cluster.nodes.filter(({ running }) => running) : [cluster.node(which)];
    const stopped = nodes.find(({ running }) => !running);
    if (stopped !== undefined || nodes.length === 0) throw notRunning(cluster.name, stopped);
    const { clock } = cluster;
    const limits = { clock, signal: context.signal, limitMs: ANSWER_LIMIT_MS };
    const first = await readSnapshots(nodes, limits);
    if (flags.rate !== undefined) await clock.sleep(flags.rate, context.signal);
    const last = flags.rate === undefined ? first : await readSnapshots(nodes, limits);
    throwIfInterrupted(context.signal);
    if (last.snapshots.length === 0) throw nobodyAnswered(last.silent);
    const rows = summarise(last.snapshots, flags.rate === undefined ? [] : first.snapshots);
    const { match = '' } = flags;
    const matching = rows.filter(({ name }) => name.toLowerCase().includes(match.toLowerCase()));
    if (matching.length === 0) throw nothingMatches(match, rows);
    const moved = matching.filter(({ max, min }) => max > 0 || min < 0);
    const document: MetricsDocument = {
      name: cluster.name,
      at: new Date(clock.now()).toISOString(),
      nodes: last.snapshots.map(({ node }) => node),
      silent: last.silent,
      withoutRate: Object.fromEntries(
        Object.entries(first.silent).filter(([node]) => last.silent[node] === undefined),
      ),
      metrics: flags.all === true || context.json || moved.length === 0 ? matching : moved,
    };
    answer(context, document, lines(document, matching.length, context));
  });
}

function lines(
  { name, nodes, silent, withoutRate, metrics: rows }: MetricsDocument,
  matching: number,
  { width }: CommandContext,
): string[] {
  const isOne = nodes.length === 1;
  const isRate = rows.some(({ perSecond }) => perSecond !== null);
  const isMean = rows.some(({ mean }) => mean !== null);
  const columns: { readonly column: Column; readonly cell: (row: MetricRow) => string }[] = [
    { column: { title: 'metric', rank: 0 }, cell: ({ name: metric, labels }) => metric + labelsText(labels) },
    {
      column: { title: isOne ? 'value' : 'total', align: 'right', rank: 0 },
      cell: ({ total, max, unit, kind }) =>
        total === null ? (isOne ? shown(max, unit) : '') : shown(total, kind === 'counter' ? unit : ''),
    },
    ...(isRate
      ? [
          {
            column: { title: 'per second', align: 'right', rank: 0 } as const,
            cell: ({ perSecond, unit, kind }: MetricRow) =>
              perSecond === null ? '' : shown(perSecond, kind === 'counter' ? unit : ''),
          },
        ]
      : []),
    ...(isOne
      ? []
      : (['min', 'median', 'max'] as const).map((key) => ({
          column: { title: key, align: 'right', rank: key === 'median' ? 2 : 1 } as const,
          cell: (row: MetricRow) => shown(row[key], isWhole(row) ? '' : row.unit),
        }))),
    ...(isMean
      ? [
          {
            column: { title: 'mean', align: 'right', rank: 1 } as const,
            cell: ({ mean, unit }: MetricRow) => (mean === null ? '' : shown(mean, unit)),
          },
        ]
      : []),
    ...(rows.some((row) => columnUnit(row) !== '')
      ? [{ column: { title: 'unit', rank: 3 }, cell: columnUnit }]
      : []),
    { column: { title: 'what', rank: 4 }, cell: ({ help }) => help },
  ];
  const table = renderTable(
    columns.map(({ column }) => column),
    rows.map((row) => columns.map(({ cell }) => cell(row))),
    width,
  );
  const [head = '', ...body] = table.lines;
  const hidden = matching - rows.length;
  return [
    `  ${name} · ${isOne ? nodes[0] : plural(nodes.length, 'node')}`,
    '',
    head,
    ...body.flatMap((line, i) => {
      const begins = i > 0 && subsystemOf(rows[i]) !== subsystemOf(rows[i - 1]);
      return begins ? ['', line] : [line];
    }),
    ...(hidden === 0 ? [] : ['', `  ${plural(hidden, 'metric')} with value 0 not shown (--all)`]),
    ...Object.entries(silent).map(([node, why]) => `  ${node} did not answer: ${why}`),
    ...Object.entries(withoutRate).map(
      ([node, why]) => `  ${node} is in no rate, because it did not answer at first: ${why}`,
    ),
  ];
}

function subsystemOf(row: MetricRow | undefined): string | undefined {
  return row?.name.split('_')[0];
}

/** A count of observations. */
function isWhole({ kind }: MetricRow): boolean {
  return kind === 'histogram' || kind === 'summary';
}

function labelsText(labels: MetricRow['labels']): string {
  const parts = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function shown(value: number, unit: Unit): string {
  if (unit === 'bytes') return formatBytes(value);
  // Larger values are timestamps, not durations.
  if (unit === 's' && value < 1e9)
    return value < 1 ? `${(value * 1000).toFixed(value < 0.1 ? 2 : 0)} ms` : formatMs(value * 1000);
  return grouped(Number.isInteger(value) ? BigInt(value) : value.toFixed(value < 10 ? 2 : 1));
}

function columnUnit(row: MetricRow): string {
  return isWhole(row) || row.unit === 'bytes' || row.unit === 's' ? '' : row.unit;
}

function notRunning(cluster: string, node: ClusterNode | undefined): HarnessError {
  return node === undefined
    ? new HarnessError('NODE_STATE', `no node of '${cluster}' is running, so there are no metrics`, {
        hint: 'svcnet ps shows the state of each node.',
      })
    : new HarnessError('NODE_STATE', `${node.name} has no metrics: it is ${node.state}`, {
        hint: `Start it with: svcnet start ${node.name}`,
      });
}

function nobodyAnswered(silent: MetricsDocument['silent']): HarnessError {
  const why = Object.entries(silent).map(([node, reason]) => `${node}: ${reason}`);
  return new HarnessError('NODE_STATE', ['no node answered', ...why].join('\n'));
}

function nothingMatches(match: string, rows: readonly MetricRow[]): HarnessError {
  const subsystems = [...new Set(rows.map((row) => subsystemOf(row)))];
  return new HarnessError('USAGE', `--match: no metric name contains '${match}'`, {
    hint: `Names start with: ${subsystems.join(', ')}.`,
  });
}
