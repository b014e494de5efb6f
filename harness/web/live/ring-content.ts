import { CUT, type LegendLine, type RingContent } from '../network/drawing.ts';
import type { FigureName, LinkView, NodeView } from '../picture/live.ts';
import { CHUNK_KINDS } from './flights.ts';
import { isCut, type Model, shownState, troubleOf } from './model.ts';

interface LinkMode {
  readonly text: string;
  /** In the legend. */
  readonly legend?: string;
  readonly connections?: boolean;
  readonly colour?: string;
  readonly weight?: (link: LinkView) => number;
}

export const LINK_MODES = {
  traffic: {
    text: 'with traffic now',
    legend: 'link, wider: more traffic',
    colour: '--muted',
    weight: ({ flow }) => flow,
  },
  all: { text: 'all connections', legend: 'connection', connections: true },
  debts: {
    text: 'who owes whom',
    legend: 'link, wider: more owed',
    colour: '--series-4',
    weight: ({ balance }) => Math.abs(Number(balance)),
  },
  cheques: {
    text: 'paid by cheque',
    legend: 'link, wider: more paid',
    colour: '--series-2',
    weight: ({ paidByA, paidByB }) => Number(paidByA) + Number(paidByB),
  },
  none: { text: 'none' },
} satisfies Readonly<Record<string, LinkMode>>;

interface SizeMode {
  readonly text: string;
  readonly weight: (node: NodeView, figure: (name: FigureName) => number) => number;
}

export const SIZE_MODES = {
  reserve: { text: 'chunks in reserve', weight: ({ reserve }) => reserve ?? 0 },
  traffic: {
    text: 'chunks per second',
    weight: (_, figure) => figure('pushed') + figure('retrieved') + figure('stored'),
  },
  queue: { text: 'chunks waiting', weight: (_, figure) => figure('queue') },
  same: { text: 'all the same', weight: () => 1 },
} satisfies Readonly<Record<string, SizeMode>>;

export interface RingModes {
  links: keyof typeof LINK_MODES;
  sizes: keyof typeof SIZE_MODES;
}

function legendOf(
  { legend, colour = '--muted' }: LinkMode,
  { text }: SizeMode,
  { sight, cut }: { readonly sight: boolean; readonly cut: boolean },
): LegendLine[] {
  const kinds = sight ? Object.values(CHUNK_KINDS) : [];
  return [
    { text: 'neighbourhood', colour: '--phase-line', width: 6 },
    ...(legend === undefined ? [] : [{ text: legend, colour, width: 2 }]),
    ...(cut ? [{ text: 'dashed: cut by a fault', ...CUT }] : []),
    ...kinds.map((kind) => ({ ...kind, width: 4 })),
    ...(text === SIZE_MODES.same.text ? [] : [{ text: `larger node: more ${text}` }]),
  ];
}

export function ringContent(model: Model, modes: RingModes): RingContent {
  const links: LinkMode = LINK_MODES[modes.links];
  const sizes: SizeMode = SIZE_MODES[modes.sizes];
  const drawn = Array.from(model.links.values(), (link) => ({
    ...link,
    cut: modes.links !== 'none' && isCut(model, link),
    weight: links.weight?.(link) ?? 0,
  }));
  return {
    nodes: model.nodes.map((node, place) => ({
      ...node,
      state: shownState(node),
      trouble: troubleOf(node),
      weight: sizes.weight(node, (name) => model.figure(place, name) ?? 0),
    })),
    links: drawn,
    connections: links.connections ?? false,
    colour: links.colour ?? '--muted',
    legend: legendOf(links, sizes, {
      sight: model.cluster.chunkSight === 'on',
      cut: drawn.some(({ cut }) => cut),
    }),
  };
}
