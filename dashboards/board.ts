/** Boards as data. `grafana.ts` makes of them what Grafana reads. */

/** Grafana's names. */
export const UNITS = {
  count: 'short',
  ratio: 'percentunit',
  seconds: 's',
  duration: 'dtdurations',
  bytes: 'bytes',
  /** Decimal, as throughput is elsewhere. */
  bytesPerSecond: 'Bps',
  perSecond: 'cps',
  perMinute: 'cpm',
  requestsPerSecond: 'reqps',
  processors: 'none',
} as const;
export type Unit = keyof typeof UNITS;

export interface Query {
  readonly expr: string;
  /** Labels in double braces. */
  readonly legend: string;
}

interface PanelCommon {
  readonly title: string;
  /** What a high, a low or any value means. */
  readonly about: string;
  readonly unit: Unit;
  /** Of 24; default 8. */
  readonly width?: number;
}

export interface TimeSeriesPanel extends PanelCommon {
  readonly kind: 'series';
  readonly queries: readonly Query[];
  readonly stacked?: boolean;
}

/** The latest number, or one per series. */
export interface StatPanel extends PanelCommon {
  readonly kind: 'stat';
  readonly query: Query;
  /** From this value on. */
  readonly redFrom?: number;
  /** By value. */
  readonly words?: Words;
}

export interface TimelinePanel extends PanelCommon {
  readonly kind: 'timeline';
  readonly query: Query;
  readonly words: Words;
}

/** Time across, a label or a histogram's bounds upwards, the value as colour. */
export interface HeatmapPanel extends PanelCommon {
  readonly kind: 'heatmap';
  readonly query: Query;
  /** Upwards; the panel's unit is that of the colour. */
  readonly upwards: Unit;
  /** The series are a histogram's, by `le`. */
  readonly histogram?: boolean;
}

export type Panel = TimeSeriesPanel | StatPanel | TimelinePanel | HeatmapPanel;
export type Words = Readonly<Record<number, { readonly text: string; readonly color: string }>>;

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Board {
  readonly uid: string;
  readonly title: string;
  readonly about: string;
  readonly rows: readonly Row[];
}

/** Not everyone can tell red from green. */
export const PASSED_FAILED: Words = {
  0: { text: 'failed', color: 'red' },
  1: { text: 'passed', color: 'green' },
};
export const UP_DOWN: Words = { 0: { text: 'down', color: 'red' }, 1: { text: 'up', color: 'green' } };
export const ACTIVE: Words = {
  0: { text: 'none', color: 'transparent' },
  1: { text: 'active', color: 'orange' },
};
