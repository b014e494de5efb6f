/** The network's state and its changes, without input or output. */
import {
  type ChunkMove,
  type ClusterView,
  type Delta,
  FIGURES,
  type LinkView,
  type MessageView,
  type NodeView,
  type Row,
  type Snapshot,
  type TimeView,
  type UiEvent,
} from '../../web/picture/live.ts';

/** Ten minutes of a small network. */
const ROWS_MAX = 600;
/** Over all rows: a page reads some megabytes of JSON when it connects. */
const NUMBERS_MAX = 200_000;
const EVENTS_MAX = 300;

export interface Findings {
  readonly cluster?: Partial<ClusterView>;
  readonly nodes?: readonly NodeView[];
  readonly links?: readonly LinkView[];
  readonly row?: Row;
  readonly events?: readonly Omit<UiEvent, 'number'>[];
  readonly moves?: readonly ChunkMove[];
  /** Replace those before. */
  readonly messages?: readonly MessageView[];
  readonly time?: TimeView;
}

export class UiState {
  #cluster: ClusterView;
  #nodes: Map<string, NodeView>;
  readonly #links = new Map<string, LinkView>();
  #rowsMax: number;
  #rows: Row[] = [];
  #events: UiEvent[] = [];
  #numbered = 0;
  #messages: readonly MessageView[] | undefined;
  #time: TimeView | undefined;

  constructor(cluster: ClusterView, nodes: readonly NodeView[]) {
    this.#cluster = cluster;
    this.#nodes = byName(nodes);
    this.#rowsMax = rowsMaxOf(nodes.length);
  }

  get cluster(): ClusterView {
    return this.#cluster;
  }

  get nodes(): readonly NodeView[] {
    return [...this.#nodes.values()];
  }

  get links(): readonly LinkView[] {
    return [...this.#links.values()];
  }

  snapshot(): Snapshot {
    return {
      cluster: this.#cluster,
      nodes: this.nodes,
      links: this.links,
      rows: this.#rows,
      events: this.#events,
      ...(this.#messages && { messages: this.#messages }),
      ...(this.#time && { time: this.#time }),
    };
  }

  /** Keeps what is known of remaining nodes, whose order must be the same. Pages need the whole snapshot. */
  renew(nodes: readonly NodeView[]): void {
    const old = [...this.#nodes.keys()];
    const was = nodes.map(({ name }) => old.indexOf(name));
    const links = this.links.map(({ a, b, ...link }) => ({ ...link, a: was.indexOf(a), b: was.indexOf(b) }));
    this.#links.clear();
    for (const link of links) if (link.a >= 0 && link.b >= 0) this.#links.set(linkKey(link), link);
    this.#nodes = byName(nodes);
    this.#rowsMax = rowsMaxOf(nodes.length);
    this.#rows = this.#rows
      .slice(-this.#rowsMax)
      .map((row) => ({ ...row, nodes: was.map((place) => row.nodes[place] ?? null) }));
  }

  /** @returns undefined: nothing new */
  put(findings: Findings): Delta | undefined {
    const cluster =
      findings.cluster === undefined ? this.#cluster : { ...this.#cluster, ...findings.cluster };
    const nodes = (findings.nodes ?? []).filter((node) => differs(node, this.#nodes.get(node.name)));
    const links = (findings.links ?? []).filter((link) => differs(link, this.#links.get(linkKey(link))));
    const events = (findings.events ?? []).map((event) => ({ number: ++this.#numbered, ...event }));
    const { row, moves = [], messages = this.#messages, time = this.#time } = findings;
    const isHeard = messages !== undefined && differs(messages, this.#messages);
    const delta: Delta = {
      ...(differs(cluster, this.#cluster) && { cluster }),
      ...(nodes.length > 0 && { nodes }),
      ...(links.length > 0 && { links }),
      ...(row !== undefined && { row }),
      ...(events.length > 0 && { events }),
      ...(moves.length > 0 && { moves }),
      ...(isHeard && { messages }),
      ...(time !== undefined && differs(time, this.#time) && { time }),
    };
    this.#messages = messages;
    this.#time = time;
    this.#cluster = cluster;
    for (const node of nodes) this.#nodes.set(node.name, node);
    for (const link of links) this.#links.set(linkKey(link), link);
    if (row !== undefined) this.#rows = [...this.#rows, row].slice(-this.#rowsMax);
    this.#events = [...this.#events, ...events].slice(-EVENTS_MAX);
    return Object.keys(delta).length === 0 ? undefined : delta;
  }
}

function byName(nodes: readonly NodeView[]): Map<string, NodeView> {
  return new Map(nodes.map((node) => [node.name, node]));
}

/** How many a page holds. */
export function rowsMaxOf(nodes: number): number {
  const numbers = Math.max(nodes, 1) * FIGURES.length;
  return Math.max(1, Math.min(ROWS_MAX, Math.floor(NUMBERS_MAX / numbers)));
}

function linkKey({ a, b }: LinkView): string {
  return `${a}-${b}`;
}

/** The same code makes both: their fields have the same order. */
function differs(now: object, before: object | undefined): boolean {
  return now !== before && JSON.stringify(now) !== JSON.stringify(before);
}
