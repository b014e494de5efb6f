import {
  increase,
  type Rows,
  rate,
  rowsByCluster,
  type Series,
  type SeriesColumns,
} from '../metrics/series.ts';
import { readSeries } from '../metrics/series-file.ts';

const CPU = 'testbed_node_cpu_seconds_total';
const MEMORY = 'testbed_node_rss_bytes';
const EVENT_LOOP = 'nodejs_eventloop_lag_p99_seconds';
const BYTES = 'testbed_network_bytes_total';
const WANTED = new Set([CPU, MEMORY, EVENT_LOOP, BYTES]);
const POINTS_MAX = 120;

/** The highest value in each of equal parts of the run; `null`: none. */
export interface ResourceCurve {
  readonly points: readonly (number | null)[];
  readonly mean: number;
  readonly peak: number;
}

export interface NodeResources {
  readonly node: string;
  /** Percent of one core. */
  readonly cpu?: ResourceCurve;
  /** Resident, bytes. */
  readonly memory?: ResourceCurve;
  /** ms */
  readonly eventLoop?: ResourceCurve;
}

export interface Resources {
  readonly nodes: readonly NodeResources[];
  /** Of all nodes; `NaN`: unknown. */
  readonly cpuSeconds: number;
  /** Through streams, most first. */
  readonly traffic: readonly {
    readonly protocol: string;
    readonly sent: number;
    readonly received: number;
  }[];
}

export async function readResources(folder: string): Promise<Resources | undefined> {
  const columns = await readSeries(folder, ({ name }) => WANTED.has(name));
  if (columns === undefined || columns.times.length === 0) return undefined;
  const parts = Array.from(rowsByCluster(columns), (rows) => partsOf(columns, rows)).flat();
  type Figure = keyof Omit<NodeResources, 'node'>;
  const nodes = new Map<string, Partial<Record<Figure, Float64Array>>>();
  const note = (one: Part, what: Figure, values: Float64Array): void => {
    const name = one.node ?? one.labels['node'];
    if (name === undefined) return;
    const node = one.cluster === 1 ? name : `${name} (cluster ${one.cluster})`;
    const known = nodes.get(node);
    nodes.set(node, { ...known, [what]: joined(known?.[what], values) });
  };
  for (const one of parts) {
    if (one.name === CPU)
      note(
        one,
        'cpu',
        rate(one.times, one.values).map((seconds) => seconds * 100),
      );
    else if (one.name === MEMORY) note(one, 'memory', one.values);
    else if (one.name === EVENT_LOOP)
      note(
        one,
        'eventLoop',
        one.values.map((seconds) => seconds * 1000),
      );
  }
  const cpu = parts.filter(({ name }) => name === CPU);
  return {
    nodes: Array.from(nodes, ([node, values]) => ({ node, ...curvesOf(values) }))
      .filter((node) => Object.keys(node).length > 1)
      .toSorted((a, b) => a.node.localeCompare(b.node, 'en', { numeric: true })),
    cpuSeconds:
      cpu.length === 0 ? Number.NaN : cpu.reduce((sum, { values }) => sum + (increase(values) || 0), 0),
    traffic: trafficOf(parts.filter(({ name }) => name === BYTES)),
  };
}

/** What one cluster has of a series. */
interface Part extends Series {
  readonly cluster: number;
  readonly times: Float64Array;
}

function partsOf(columns: SeriesColumns, [cluster, rows]: readonly [number, Rows]): Part[] {
  const times = columns.times.slice(...rows);
  return columns.series
    .map((one) => ({ ...one, cluster, times, values: one.values.slice(...rows) }))
    .filter(({ values }) => values.some((value) => !Number.isNaN(value)));
}

/** A node's, under two names of what it belongs to. */
function joined(earlier: Float64Array | undefined, later: Float64Array): Float64Array {
  return earlier === undefined
    ? later
    : later.map((value, i) => (Number.isNaN(value) ? (earlier[i] as number) : value));
}

function curvesOf(values: Partial<Record<string, Float64Array>>): Omit<NodeResources, 'node'> {
  const curves = Object.entries(values).flatMap(([what, some]) => {
    const curve = some === undefined ? undefined : curveOf(some);
    return curve === undefined ? [] : [[what, curve]];
  });
  return Object.fromEntries(curves) as Omit<NodeResources, 'node'>;
}

function curveOf(values: Float64Array): ResourceCurve | undefined {
  const known = values.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return undefined;
  const size = Math.max(1, Math.ceil(values.length / POINTS_MAX));
  const points: (number | null)[] = [];
  for (let from = 0; from < values.length; from += size) {
    const part = values.slice(from, from + size).filter((value) => !Number.isNaN(value));
    points.push(part.length === 0 ? null : part.reduce((a, b) => Math.max(a, b)));
  }
  return {
    points,
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
    peak: known.reduce((a, b) => Math.max(a, b)),
  };
}

function trafficOf(series: readonly Series[]): Resources['traffic'] {
  const byProtocol = Map.groupBy(series, ({ labels }) => labels['protocol'] ?? '');
  const last = (rows: readonly Series[], direction: RegExp) =>
    rows
      .filter(({ labels }) => direction.test(labels['direction'] ?? ''))
      .reduce((sum, { values }) => sum + (values.findLast((value) => !Number.isNaN(value)) ?? 0), 0);
  return Array.from(byProtocol, ([protocol, rows]) => ({
    protocol,
    sent: last(rows, /^(out|sent)/),
    received: last(rows, /^(in|received)/),
  })).toSorted((a, b) => b.sent + b.received - a.sent - a.received);
}
