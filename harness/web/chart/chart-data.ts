import type { Unit } from '../base/format.ts';

export interface TimeSeries {
  readonly label: string;
  /** `null`: a gap. */
  readonly values: readonly (number | null)[];
  /** Drawn dashed, such as a median beside its extreme. */
  readonly dashed?: boolean | undefined;
  /** From 1; default: its place. Related series share one. */
  readonly colour?: number | undefined;
}

export interface TimeChartData {
  readonly title: string;
  readonly unit: Unit;
  /** Ms since the epoch, ascending. */
  readonly timesMs: readonly number[];
  readonly series: readonly TimeSeries[];
  /** Default: linear, from zero. */
  readonly scale?: 'log';
  readonly note?: string;
  /** Steps: each value stands until the next. */
  readonly steps?: boolean;
}

export interface ChartMark {
  readonly kind: 'phase' | 'fault' | 'incident';
  readonly fromMs: number;
  /** Absent: at once, or not ended. */
  readonly toMs?: number | undefined;
  readonly text: string;
}

/** Shared by stacked charts. */
export interface ChartFrame {
  /** Shown as 0:00, ms since the epoch. */
  readonly originMs: number;
  /** Both ends, ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly marks: readonly ChartMark[];
}
