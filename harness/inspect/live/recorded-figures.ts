/** What a run's own readings of metrics say of its nodes: looking at it asks them nothing. */
import type { SeriesId } from '../../metrics/series.ts';
import { type NodeView, OPERATIONS, type Row } from '../../web/picture/live.ts';
import { FIGURE_SERIES, figuresOf, growth, type Reading, rounded } from './figures.ts';

/** What metrics tell. */
export type Reported = Pick<NodeView, 'version' | 'depth' | 'storageRadius' | 'reserve' | 'peers'>;

export interface Read {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Undefined: no value at that moment. */
  readonly read: (series: number) => number | undefined;
  /** Readings of the run before it; absent: as many as were added. */
  readonly asked?: number;
}

const GAUGES = {
  depth: 'kademlia_current_depth',
  storageRadius: 'localstore_storage_radius',
  reserve: 'localstore_reserve_size',
  peers: 'kademlia_currently_connected_peers',
} as const;
const INFO = 'info';
const DONE = 'testbed_op_total';
const CPU = 'testbed_node_cpu_seconds_total';
const MEMORY = 'testbed_node_rss_bytes';
const OF_NODES: ReadonlySet<string> = new Set([...FIGURE_SERIES, ...Object.values(GAUGES), INFO]);
const OF_TESTBED: ReadonlySet<string> = new Set([DONE, CPU, MEMORY]);
/** Label of the one process that holds all nodes. */
const ALL = 'all';
const NO_BUCKETS = { push: new Map<number, number>(), retrieval: new Map<number, number>() };

/** Whether the page shows what it says. */
export function isShown({ node, name }: Pick<SeriesId, 'node' | 'name'>): boolean {
  return node === undefined ? OF_TESTBED.has(name) : OF_NODES.has(name);
}

interface Numbered {
  readonly number: number;
  readonly id: SeriesId;
}

export class RecordedFigures {
  /** A simulation's process says nothing of its nodes. */
  readonly #isSimulated: boolean;
  readonly #testbed: Numbered[] = [];
  #operations: { readonly at: number; readonly sums: readonly number[] } | undefined;
  #cpu: { readonly at: number; readonly seconds: number } | undefined;
  /** Series by node. */
  readonly #series = new Map<string, Numbered[]>();
  readonly #before = new Map<string, Reading>();
  #known = 0;
  #readings = 0;

  constructor({ isSimulated }: { readonly isSimulated: boolean }) {
    this.#isSimulated = isSimulated;
  }

  /**
   * @param ids all series so far, by number @param nodes in the row's order
   * @returns a row of the charts, and each node's report; undefined: it has not answered
   */
  add(
    { at, read, asked = this.#readings }: Read,
    ids: readonly SeriesId[],
    nodes: readonly string[],
  ): { readonly row: Row; readonly reported: readonly (Reported | undefined)[] } {
    this.#learn(ids);
    // Each reading is a request of the run itself.
    this.#readings = asked + 1;
    const found = nodes.map((node) => this.#nodeAt(node, { at, asked, read }));
    return {
      row: {
        at,
        nodes: found.map((one) => one?.figures ?? null),
        latencies: [null, null, null, null],
        shared: this.#isSimulated ? null : this.#sharedAt({ at, read }),
        ...this.#operationsAt({ at, read }),
      },
      reported: found.map((one) => one?.reported),
    };
  }

  #learn(ids: readonly SeriesId[]): void {
    for (const [i, id] of ids.slice(this.#known).entries()) {
      if (!isShown(id)) continue;
      if (id.node === undefined) {
        this.#testbed.push({ number: this.#known + i, id });
        continue;
      }
      const series = this.#series.get(id.node) ?? [];
      series.push({ number: this.#known + i, id });
      this.#series.set(id.node, series);
    }
    this.#known = ids.length;
  }

  #operationsAt({ at, read }: Read): Pick<Row, 'operations'> {
    const before = this.#operations;
    const done = this.#testbed.filter(({ number, id }) => id.name === DONE && read(number) !== undefined);
    const sums = OPERATIONS.map((kind) =>
      done.filter(({ id }) => kindOf(id) === kind).reduce((sum, { number }) => sum + (read(number) ?? 0), 0),
    );
    this.#operations = { at, sums };
    if (done.length === 0) return {};
    const seconds = before === undefined ? 0 : (at - before.at) / 1000;
    const rate = (sum: number, kind: number) => growth(sum, before?.sums[kind]);
    return {
      operations: sums.map((sum, kind) => (seconds > 0 ? rounded((rate(sum, kind) ?? 0) / seconds) : null)),
    };
  }

  #sharedAt({ at, read }: Read): Row['shared'] {
    const value = (name: string) => {
      const found = this.#testbed.find(({ id }) => id.name === name && id.labels['node'] === ALL);
      return found === undefined ? undefined : read(found.number);
    };
    const [seconds, memory] = [value(CPU), value(MEMORY)];
    const before = this.#cpu;
    this.#cpu = seconds === undefined ? undefined : { at, seconds };
    if (memory === undefined) return null;
    const isRate = before !== undefined && at > before.at;
    const gain = growth(seconds, before?.seconds);
    return { cpu: isRate && gain !== null ? rounded((gain * 100_000) / (at - before.at)) : null, memory };
  }

  #nodeAt(
    node: string,
    { at, asked, read }: Required<Read>,
  ): { readonly figures: (number | null)[]; readonly reported: Reported } | undefined {
    const values = new Map<string, number>();
    let version: string | null = null;
    for (const { number, id } of this.#series.get(node) ?? []) {
      const value = read(number);
      if (value === undefined) continue;
      values.set(id.name, (values.get(id.name) ?? 0) + value);
      if (id.name === INFO) version = id.labels['version'] ?? version;
    }
    if (values.size === 0) {
      this.#before.delete(node);
      return undefined;
    }
    const now: Reading = { at, asked, values, buckets: NO_BUCKETS };
    const figures = figuresOf(now, this.#before.get(node), null);
    this.#before.set(node, now);
    const gauge = (name: string) => values.get(name) ?? null;
    return {
      figures,
      reported: {
        version,
        depth: gauge(GAUGES.depth),
        storageRadius: gauge(GAUGES.storageRadius),
        reserve: gauge(GAUGES.reserve),
        peers: gauge(GAUGES.peers),
      },
    };
  }
}

function kindOf({ labels }: SeriesId): (typeof OPERATIONS)[number] {
  const { op = '', result } = labels;
  if (result !== 'ok') return 'failed';
  if (op.startsWith('upload')) return 'uploads';
  return op.startsWith('download') ? 'downloads' : 'others';
}
