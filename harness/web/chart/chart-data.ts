/** A time chart's content as plain data, which JSON can carry. */
import type { Unit } from '../base/format.ts';

export interface TimeSeries {
  readonly label: string;
  /** One per time; `null` is a gap. */
  readonly values: readonly (number | null)[];
  /** Drawn thinner and dashed, such as a median beside its extreme. */
  readonly dashed?: boolean | undefined;
  /** Colour number from 1; default: its place. Related series share one. */
  readonly colour?: number | undefined;
}

export interface TimeChartData {
  readonly title: string;
  readonly unit: Unit;
  /** Ascending, ms since the epoch. */
  readonly timesMs: readonly number[];
  readonly series: readonly TimeSeries[];
  /** Default: linear, from zero. */
  readonly scale?: 'log';
  /** What a reader must know about its values. */
  readonly note?: string;
  /** Each value stands until the next: drawn as steps. */
  readonly steps?: boolean;
}

/** What is marked on the axis of every chart. */
export interface ChartMark {
  readonly kind: 'phase' | 'fault' | 'incident';
  readonly fromMs: number;
  /** Absent: it took no time, or has not ended. */
  readonly toMs?: number | undefined;
  readonly text: string;
}

/** What charts stacked below each other share. */
export interface ChartFrame {
  /** Time shown as 0:00, ms since the epoch. */
  readonly originMs: number;
  /** Both ends of the axis, ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly marks: readonly ChartMark[];
}
