import type { ChartFrame, TimeChartData } from '../chart/chart-data.ts';
import type { NetworkPicture } from '../picture/picture.ts';

export interface ReportPageData {
  readonly scenarios: readonly ScenarioDrawings[];
}

export interface ScenarioDrawings {
  readonly frame: ChartFrame;
  readonly charts: readonly TimeChartData[];
  readonly picture?: NetworkPicture | undefined;
}

export const DATA_ID = 'report-data';
export const CHARTS_ATTRIBUTE = 'data-charts';
export const RING_ATTRIBUTE = 'data-ring';
