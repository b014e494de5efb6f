/** Boards as data: what they show and what it means. `grafana.ts` makes of it what Grafana reads. */

/** Names of Grafana's units, by what they stand for here. */
export const UNITS = {
  count: 'short',
  ratio: 'percentunit',
  seconds: 's',
  duration: 'dtdurations',
  bytes: 'bytes',
  /** Decimal, as throughput is given everywhere else. */
  bytesPerSecond: 'Bps',
  perSecond: 'cps',
  perMinute: 'cpm',
  requestsPerSecond: 'reqps',
  processors: 'none',
} as const;
export type Unit = keyof typeof UNITS;

export interface Query {
  /** PromQL with the variables of `variables.ts`. */
  readonly expr: string;
  /** Text of the legend; labels in double braces. */
  readonly legend: string;
}

interface PanelCommon {
  readonly title: string;
  /** What is seen, and what it means when it is high, low or not zero. */
  readonly about: string;
  readonly unit: Unit;
  /** Of 24 columns; default 8. */
  readonly width?: number;
}

/** Lines over time. */
export interface TimeSeriesPanel extends PanelCommon {
  readonly kind: 'series';
  readonly queries: readonly Query[];
  readonly stacked?: boolean;
}

/** One number, or one for each series: the latest one. */
export interface StatPanel extends PanelCommon {
  readonly kind: 'stat';
  readonly query: Query;
  /** Red from this value on. */
  readonly redFrom?: number;
  /** Words for values. */
  readonly words?: Words;
}

/** A row for each series, coloured by its value over time. */
export interface TimelinePanel extends PanelCommon {
  readonly kind: 'timeline';
  readonly query: Query;
  readonly words: Words;
}

/** Time across, a label or the bounds of a histogram upwards, the value as colour. */
export interface HeatmapPanel extends PanelCommon {
  readonly kind: 'heatmap';
  readonly query: Query;
  /** Unit of what is drawn upwards; the panel's unit is that of the colour. */
  readonly upwards: Unit;
  /** The series are those of a histogram, by `le`. */
  readonly histogram?: boolean;
}

export type Panel = TimeSeriesPanel | StatPanel | TimelinePanel | HeatmapPanel;
export type Words = Readonly<Record<number, { readonly text: string; readonly color: string }>>;

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Board {
  /** Part of its address, and name of its file. */
  readonly uid: string;
  readonly title: string;
  readonly about: string;
  readonly rows: readonly Row[];
}

/** Not everyone can tell red from green: the words say it too. */
export const PASSED_FAILED: Words = {
  0: { text: 'failed', color: 'red' },
  1: { text: 'passed', color: 'green' },
};
export const UP_DOWN: Words = { 0: { text: 'down', color: 'red' }, 1: { text: 'up', color: 'green' } };
export const ACTIVE: Words = {
  0: { text: 'none', color: 'transparent' },
  1: { text: 'active', color: 'orange' },
};
