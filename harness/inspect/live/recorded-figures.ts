/** What a run's own readings of metrics say of its nodes: looking at it asks them nothing. */
import type { SeriesId } from '../../metrics/series.ts';
import type { NodeView, Row } from '../../web/picture/live.ts';
import { figuresOf, type Reading } from './figures.ts';

/** What metrics tell. */
export type Reported = Pick<NodeView, 'version' | 'depth' | 'storageRadius' | 'reserve' | 'peers'>;

export interface Read {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Undefined: no value at that moment. */
  readonly read: (series: number) => number | undefined;
}

const GAUGES = {
  depth: 'kademlia_current_depth',
  storageRadius: 'localstore_storage_radius',
  reserve: 'localstore_reserve_size',
  peers: 'kademlia_currently_connected_peers',
} as const;
const NO_BUCKETS = { push: new Map<number, number>(), retrieval: new Map<number, number>() };

export class RecordedFigures {
  /** Series by node. */
  readonly #series = new Map<string, { readonly number: number; readonly id: SeriesId }[]>();
  readonly #before = new Map<string, Reading>();
  #known = 0;
  #readings = 0;

  /**
   * @param ids all series so far, by number @param nodes in the row's order
   * @returns a row of the charts, and each node's report; undefined: it has not answered
   */
  add(
    { at, read }: Read,
    ids: readonly SeriesId[],
    nodes: readonly string[],
  ): { readonly row: Row; readonly reported: readonly (Reported | undefined)[] } {
    this.#learn(ids);
    // Each reading is a request of the run itself.
    const asked = this.#readings++;
    const found = nodes.map((node) => this.#nodeAt(node, { at, asked, read }));
    return {
      row: {
        at,
        nodes: found.map((one) => one?.figures ?? null),
        latencies: [null, null, null, null],
        shared: null,
      },
      reported: found.map((one) => one?.reported),
    };
  }

  #learn(ids: readonly SeriesId[]): void {
    for (const [i, id] of ids.slice(this.#known).entries()) {
      if (id.node === undefined) continue;
      const series = this.#series.get(id.node) ?? [];
      series.push({ number: this.#known + i, id });
      this.#series.set(id.node, series);
    }
    this.#known = ids.length;
  }

  #nodeAt(
    node: string,
    { at, asked, read }: Read & { readonly asked: number },
  ): { readonly figures: (number | null)[]; readonly reported: Reported } | undefined {
    const values = new Map<string, number>();
    let version: string | null = null;
    for (const { number, id } of this.#series.get(node) ?? []) {
      const value = read(number);
      if (value === undefined) continue;
      values.set(id.name, (values.get(id.name) ?? 0) + value);
      if (id.name === 'info') version = id.labels['version'] ?? version;
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
