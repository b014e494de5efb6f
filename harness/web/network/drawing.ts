/**
 * The picture of a network as data, without DOM, so that it can be tested; `ring.ts` makes elements of it. Colours are names
 * of CSS variables.
 */
import { quantity } from '../base/format.ts';
import { neighbourhoods, onCircle, type Point, shareOf, spreadLabels } from './layout.ts';

export interface RingNode {
  readonly name: string;
  /** 64 hex digits. */
  readonly overlay: string;
  readonly flavour: string;
  readonly mode: string;
  readonly state: string;
  /** Briefly; undefined: none. */
  readonly trouble: string | undefined;
  readonly storageRadius: number | null;
  /** Chunks. */
  readonly reserve: number | null;
  readonly peers: number | null;
  /** For its size. */
  readonly weight: number;
}

export interface RingLink {
  readonly a: number;
  readonly b: number;
  readonly connected: boolean;
  /** By a fault, whatever its nodes know of it. */
  readonly cut?: boolean;
  /** For its width; 0: only a connection. */
  readonly weight: number;
  readonly title?: string | undefined;
}

export interface RingContent {
  readonly nodes: readonly RingNode[];
  readonly links: readonly RingLink[];
  readonly connections: boolean;
  /** Of links with weight. */
  readonly colour: string;
  /** Besides kinds of nodes. */
  readonly legend: readonly LegendLine[];
}

export interface LegendLine {
  readonly text: string;
  /** Undefined: words alone. */
  readonly colour?: string;
  readonly width?: number;
}

export interface Shape {
  readonly square: boolean;
  readonly fill: string;
  readonly stroke: string;
  readonly dashed: boolean;
  /** Inside it. */
  readonly mark: string;
}

/** Bent towards the middle: links of neighbours leave the ring. */
export interface Curve {
  readonly from: Point;
  readonly bend: Point;
  readonly to: Point;
}

export interface DrawnLabel {
  readonly text: string;
  readonly at: Point;
  /** Of the text. */
  readonly anchor: string;
  /** Degrees, around that end. */
  readonly turn: number;
}

export interface DrawnNode {
  readonly name: string;
  readonly facts: string;
  readonly trouble: boolean;
  readonly chosen: boolean;
  readonly at: Point;
  readonly r: number;
  readonly shape: Shape;
  /** Undefined: no room. */
  readonly label: DrawnLabel | undefined;
}

export interface DrawnArea {
  readonly path: string;
  readonly colour: string;
  readonly title: string;
  readonly bits?: { readonly text: string; readonly at: Point } | undefined;
}

export interface DrawnLinks {
  readonly path: string;
  readonly colour: string;
  readonly width: number;
  readonly opacity: number;
  readonly dashed?: boolean;
  readonly title?: string | undefined;
}

export interface RingDrawing {
  /** Of each side, pixels. */
  readonly size: number;
  readonly centre: Point;
  /** Of the nodes' circle. */
  readonly radius: number;
  readonly areas: readonly DrawnArea[];
  readonly leaders: string;
  /** As they are painted. */
  readonly links: readonly DrawnLinks[];
  /** In the content's order. */
  readonly nodes: readonly DrawnNode[];
  readonly legend: readonly (LegendLine & { readonly shape?: Shape })[];
}

const NARROW_PX = 520;
const MARGIN_PX = { narrow: 44, wide: 86 } as const;
const DOT_PX = { min: 4, max: 15 } as const;
/** Of more nodes, only troubled ones and the chosen one are named. */
const NAMED_MAX = 60;
const LABEL_OUT_PX = { narrow: 25, wide: 33 } as const;
const TEXT_PX = { height: 14, character: 7 } as const;
const AREAS_NAMED_MAX = 32;
/** Links of similar width share a path: a hundred nodes have five thousand. */
const WIDTHS = 8;

/** Of a link that a fault has cut. */
export const CUT = { colour: '--bad', width: 1.25 } as const;

const LOOKS: Readonly<Record<string, { readonly colour: string; readonly mark: string }>> = {
  crashed: { colour: '--bad', mark: '✕' },
  killed: { colour: '--bad', mark: '✕' },
  silent: { colour: '--bad', mark: '?' },
  paused: { colour: '--warn', mark: '‖' },
  stopped: { colour: '--muted', mark: '■' },
  new: { colour: '--muted', mark: '' },
};

/** Ours are round, others square, light and boot nodes hollow. */
function shapeOf({ flavour, mode, state }: Pick<RingNode, 'flavour' | 'mode' | 'state'>): Shape {
  const look = LOOKS[state];
  const colour = look?.colour ?? (flavour === 'svc' || flavour === 'dishonest' ? '--series-1' : '--series-5');
  const hollow = look === undefined && mode !== 'full';
  return {
    square: flavour !== 'svc',
    fill: hollow ? '--paper' : colour,
    stroke: hollow ? colour : '--paper',
    dashed: hollow && mode === 'boot',
    mark: look?.mark ?? '',
  };
}

interface Frame {
  readonly narrow: boolean;
  readonly centre: Point;
  readonly radius: number;
}

interface Placed {
  readonly points: readonly Point[];
  /** Radius, pixels. */
  readonly largest: number;
  readonly labels: ReadonlyMap<string, DrawnLabel>;
  readonly chosen: string | undefined;
}

/** @param size pixels @param chosen stands out with its links */
export function drawRing(content: RingContent, size: number, chosen?: string): RingDrawing {
  const { nodes } = content;
  const narrow = size < NARROW_PX;
  const centre = { x: size / 2, y: size / 2 };
  const radius = size / 2 - (narrow ? MARGIN_PX.narrow : MARGIN_PX.wide);
  const frame = { narrow, centre, radius };
  const outer = radius + (narrow ? 14 : 20);
  const round = 2 * Math.PI * radius;
  const largest = Math.max(DOT_PX.min, Math.min(DOT_PX.max, (0.45 * round) / Math.max(nodes.length, 1)));
  const own = nodes.map(({ overlay }) => shareOf(overlay));
  const shares = spreadLabels(own, (2 * largest + 2) / round);
  const points = shares.map((share) => onCircle(share, radius, centre));
  return {
    size,
    centre,
    radius,
    areas: areasOf(nodes, frame, outer),
    leaders: points
      .map((at, place) => `M${pair(onCircle(own[place] as number, outer, centre))}L${pair(at)}`)
      .join(''),
    links: linksOf(
      content,
      points,
      centre,
      nodes.findIndex(({ name }) => name === chosen),
    ),
    nodes: nodesOf(nodes, { points, largest, labels: labelsOf(nodes, shares, frame, chosen), chosen }),
    legend: [...kindsOf(nodes), ...content.legend],
  };
}

export function curveOf(from: Point, to: Point, centre: Point): Curve {
  return { from, bend: { x: mean(from.x, to.x, centre.x), y: mean(from.y, to.y, centre.y) }, to };
}

function mean(from: number, to: number, centre: number): number {
  return (from + to + 2 * centre) / 4;
}

function nodesOf(nodes: readonly RingNode[], { points, largest, labels, chosen }: Placed): DrawnNode[] {
  const heaviest = Math.max(1, ...nodes.map(({ weight }) => weight));
  return nodes.map((node, place) => {
    const trouble = node.trouble !== undefined;
    // A troubled node has no figures, but must be visible.
    const scale = trouble ? 1 : Math.sqrt(node.weight / heaviest);
    return {
      name: node.name,
      facts: factsOf(node),
      trouble,
      chosen: node.name === chosen,
      at: points[place] as Point,
      r: largest * (0.55 + 0.45 * scale),
      shape: shapeOf(node),
      label: labels.get(node.name),
    };
  });
}

/** Level where no name covers another, else like rays. @param shares where nodes are drawn */
function labelsOf(
  nodes: readonly RingNode[],
  shares: readonly number[],
  { narrow, centre, radius }: Frame,
  chosen: string | undefined,
): Map<string, DrawnLabel> {
  const labels = nodes
    .map(({ name, trouble }, place) => ({ name, trouble, share: shares[place] as number }))
    .filter(({ name, trouble }) => nodes.length <= NAMED_MAX || trouble !== undefined || name === chosen)
    .toSorted((a, b) => a.share - b.share)
    .map(({ name, share }) => {
      const at = onCircle(share, radius + LABEL_OUT_PX[narrow ? 'narrow' : 'wide'], centre);
      const right = at.x >= centre.x;
      const text = narrow ? name.replace(/^node-/, '') : name;
      return { name, text, at, anchor: right ? 'start' : 'end', ray: share * 360 - (right ? 90 : 270) };
    });
  const width = TEXT_PX.character * Math.max(...labels.map(({ text }) => text.length));
  const crowded = labels.some(({ at, anchor }, i) => {
    const next = labels[i + 1];
    const covers = (other: Point) =>
      Math.abs(other.x - at.x) < width && Math.abs(other.y - at.y) < TEXT_PX.height;
    return next?.anchor === anchor && covers(next.at);
  });
  return new Map(
    labels.map(({ name, text, at, anchor, ray }) => [name, { text, at, anchor, turn: crowded ? ray : 0 }]),
  );
}

function factsOf({ name, flavour, mode, trouble, overlay, peers, storageRadius, reserve }: RingNode): string {
  const facts = [
    `${flavour} ${mode}`,
    ...(trouble === undefined ? [] : [trouble]),
    `overlay ${overlay.slice(0, 8)}`,
    ...(peers === null ? [] : [`${peers} peers`]),
    ...(storageRadius === null ? [] : [`storage radius ${storageRadius}`]),
    ...(reserve === null ? [] : [`${quantity(reserve, 'count')} chunks in reserve`]),
  ];
  return `${name}: ${facts.join(', ')}`;
}

function kindsOf(nodes: readonly RingNode[]): RingDrawing['legend'] {
  const kinds = new Map<string, Shape>();
  for (const node of nodes.toSorted((a, b) => Number(a.state in LOOKS) - Number(b.state in LOOKS))) {
    const text = node.state in LOOKS ? (node.trouble ?? node.state) : `${node.flavour} ${node.mode} node`;
    if (!kinds.has(text)) kinds.set(text, shapeOf(node));
  }
  return Array.from(kinds, ([text, shape]) => ({ text, shape }));
}

function areasOf(nodes: readonly RingNode[], { narrow, centre, radius }: Frame, outer: number): DrawnArea[] {
  const areas = neighbourhoods(nodes);
  return areas.map(({ prefix, from, to, nodes: names }, i) => {
    const whole = prefix === '';
    const named = !whole && !narrow && areas.length <= AREAS_NAMED_MAX;
    const gap = Math.min(0.002, (to - from) / 8);
    const which = whole ? 'the whole address space' : `addresses that begin with ${prefix}`;
    return {
      // An arc cannot be a whole circle: two can.
      path: whole
        ? arc(0, 0.5, outer, centre) + arc(0.5, 1, outer, centre)
        : arc(from + gap, to - gap, outer, centre),
      colour: i % 2 === 0 ? '--phase-line' : '--line',
      title: `Neighbourhood ${which}: ${names.join(', ')}`,
      bits: named ? { text: prefix, at: onCircle((from + to) / 2, radius - 30, centre) } : undefined,
    };
  });
}

function linksOf(
  { links, connections, colour }: RingContent,
  points: readonly Point[],
  centre: Point,
  chosen: number,
): DrawnLinks[] {
  const path = (some: readonly RingLink[]) =>
    some
      .map(({ a, b }) => {
        const { from, bend, to } = curveOf(points[a] as Point, points[b] as Point, centre);
        return `M${pair(from)}Q${pair(bend)} ${pair(to)}`;
      })
      .join('');
  const others = chosen === -1 ? 1 : 0.35;
  const connected = links.filter((link) => link.connected && link.cut !== true);
  const thin: DrawnLinks = {
    path: path(connections ? connected : []),
    colour: '--phase-line',
    width: 1,
    opacity: Math.max(0.25, Math.min(0.7, 60 / links.length)) * others,
  };
  const heaviest = links.reduce((most, { weight }) => Math.max(most, weight), 0);
  const level = ({ weight }: RingLink) => Math.ceil(Math.sqrt(weight / heaviest) * WIDTHS) / WIDTHS;
  const weighted = links.filter(({ weight }) => weight > 0);
  const wide = Array.from(
    Map.groupBy(weighted, (link) => link.title ?? level(link)).values(),
    (alike): DrawnLinks => {
      const [first] = alike as [RingLink];
      const share = level(first);
      return {
        path: path(alike),
        colour,
        width: 0.75 + 3.5 * share,
        opacity: (0.15 + 0.55 * share) * others,
        title: first.title,
      };
    },
  );
  const own = connected.filter(({ a, b }) => a === chosen || b === chosen);
  const cut = links.filter((link) => link.cut === true);
  return [
    thin,
    ...wide,
    ...(cut.length === 0 ? [] : [{ path: path(cut), ...CUT, opacity: 0.6 * others, dashed: true }]),
    { path: path(own), colour: '--accent', width: 1.25, opacity: 0.8 },
  ];
}

function arc(from: number, to: number, radius: number, centre: Point): string {
  const [start, end] = [onCircle(from, radius, centre), onCircle(to, radius, centre)];
  return `M${pair(start)}A${radius} ${radius} 0 ${to - from > 0.5 ? 1 : 0} 1 ${pair(end)}`;
}

function pair({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
