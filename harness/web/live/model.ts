import type { ChartMark } from '../chart/chart-data.ts';
import type {
  ClusterView,
  Delta,
  FigureName,
  LinkView,
  MessageView,
  NodeView,
  Row,
  Snapshot,
  TimeView,
  UiEvent,
} from '../picture/live.ts';
import { FIGURES } from '../picture/live.ts';

const ROWS_MAX = 600;
const EVENTS_MAX = 300;

export class Model {
  cluster: ClusterView;
  /** In the order of the cluster. */
  readonly nodes: NodeView[];
  readonly links = new Map<string, LinkView>();
  rows: readonly Row[];
  events: readonly UiEvent[];
  messages: readonly MessageView[] | undefined;
  time: TimeView | undefined;
  #places: ReadonlyMap<string, number>;

  constructor({ cluster, nodes, links, rows, events, messages, time }: Snapshot) {
    this.cluster = cluster;
    this.nodes = [...nodes];
    for (const link of links) this.links.set(linkKey(link), link);
    this.rows = rows;
    this.events = events;
    this.messages = messages;
    this.time = time;
    this.#places = new Map(nodes.map(({ name }, place) => [name, place]));
  }

  replace({ cluster, nodes, links, rows, events, messages, time }: Snapshot): void {
    this.cluster = cluster;
    this.nodes.splice(0, this.nodes.length, ...nodes);
    this.#places = new Map(nodes.map(({ name }, place) => [name, place]));
    this.links.clear();
    for (const link of links) this.links.set(linkKey(link), link);
    this.rows = rows;
    this.events = events;
    this.messages = messages;
    this.time = time;
  }

  apply({ cluster, nodes = [], links = [], row, events = [], messages, time }: Delta): void {
    if (cluster !== undefined) this.cluster = cluster;
    if (messages !== undefined) this.messages = messages;
    if (time !== undefined) this.time = time;
    for (const node of nodes) {
      const place = this.#places.get(node.name);
      if (place !== undefined) this.nodes[place] = node;
    }
    for (const link of links) this.links.set(linkKey(link), link);
    if (row !== undefined) this.rows = [...this.rows, row].slice(-ROWS_MAX);
    if (events.length > 0) this.events = [...this.events, ...events].slice(-EVENTS_MAX);
  }

  node(name: string): NodeView | undefined {
    return this.nodes[this.#places.get(name) ?? -1];
  }

  placeOf(name: string): number | undefined {
    return this.#places.get(name);
  }

  linksOf(place: number): LinkView[] {
    return [...this.links.values()].filter(({ a, b }) => a === place || b === place);
  }

  figure(place: number, name: FigureName): number | null {
    return figureOf(this.rows.at(-1), place, name);
  }

  total(name: FigureName): number | null {
    return totalOf(this.rows.at(-1), name);
  }
}

export function figureOf(row: Row | undefined, place: number, name: FigureName): number | null {
  return row?.nodes[place]?.[FIGURES.indexOf(name)] ?? null;
}

export function totalOf(row: Row | undefined, name: FigureName): number | null {
  const known = knownOf(row, name);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}

export function highestOf(row: Row | undefined, name: FigureName): number | null {
  const known = knownOf(row, name);
  return known.length === 0 ? null : known.reduce((a, b) => Math.max(a, b));
}

function knownOf(row: Row | undefined, name: FigureName): number[] {
  const column = FIGURES.indexOf(name);
  return (row?.nodes ?? []).flatMap((node) => {
    const value = node?.[column];
    return value === null || value === undefined ? [] : [value];
  });
}

interface OpenBand {
  readonly part: string;
  readonly fault: string | undefined;
  /** Of an injected one, if its effect was told after it. */
  readonly hasEffect?: true;
  readonly fromMs: number;
  readonly text: string;
}

/**
 * A stopped part has a band from its fault to its recovery, or without end, and so has each injected fault; one and its
 * effect, which are told at once, have one. A failure of the run ends none.
 */
export function marksOf(events: readonly UiEvent[], part?: string): ChartMark[] {
  let open: readonly OpenBand[] = [];
  const ended = new Map<string, number>();
  const marks: ChartMark[] = [];
  for (const event of events) {
    if (event.kind === 'change' || (part !== undefined && event.part !== part && event.part !== 'chain'))
      continue;
    const of = event.part ?? '';
    const incident = { kind: 'incident', fromMs: event.at, text: event.text } as const;
    if (event.kind === 'failure') {
      marks.push(incident);
      continue;
    }
    const ofPart = open.filter((band) => band.part === of);
    const same = ofPart.find(({ fault }) => fault === event.fault);
    if (event.kind === 'fault') {
      if (same !== undefined) continue;
      const told = ofPart.find(
        ({ fault, fromMs }) => (fault === undefined) !== (event.fault === undefined) && fromMs === event.at,
      );
      if (told !== undefined) {
        if (event.fault === undefined)
          open = open.map((band) => (band === told ? { ...band, hasEffect: true } : band));
        continue;
      }
      open = [...open, { part: of, fault: event.fault, fromMs: event.at, text: event.text }];
      continue;
    }
    const begun = same ?? (event.fault === undefined ? ofPart.find(({ hasEffect }) => hasEffect) : undefined);
    open = open.filter((band) => band !== begun);
    if (begun !== undefined)
      marks.push({ kind: 'fault', fromMs: begun.fromMs, toMs: event.at, text: begun.text });
    // The end of a fault and that of its effect are told at once.
    else if (ended.get(of) !== event.at) marks.push(incident);
    ended.set(of, event.at);
  }
  const lasting = open.map(({ fromMs, text }) => ({ kind: 'fault', fromMs, text }) as const);
  return [...marks, ...lasting].toSorted((a, b) => a.fromMs - b.fromMs);
}

/** Briefly; undefined: nothing. */
export function troubleOf({ state, problem, warmingUp, faults = [] }: NodeView): string | undefined {
  if (state !== 'running') return state === 'new' ? 'not started' : state;
  if (problem !== null) return 'does not answer';
  if (faults.length > 0) return 'under a fault';
  return warmingUp ? 'warming up' : undefined;
}

/** Both run, and a fault separates them. */
export function isCut({ nodes }: Pick<Model, 'nodes'>, { a, b }: LinkView): boolean {
  const [one, other] = [nodes[a], nodes[b]];
  if (one?.state !== 'running' || other?.state !== 'running') return false;
  const { sides = {} } = other;
  return Object.entries(one.sides ?? {}).some(([fault, side]) => (sides[fault] ?? side) !== side);
}

/** `silent`: it runs, and does not answer. A stopped one may have been asked before. */
export function shownState({ state, problem }: NodeView): string {
  return state === 'running' && problem !== null ? 'silent' : state;
}

function linkKey({ a, b }: Pick<LinkView, 'a' | 'b'>): string {
  return `${a}-${b}`;
}
