/** In `report.html`, drawn when opened. */

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

/** Id of the script element with the data. */
export const DATA_ID = 'report-data';
/** Of elements that receive drawings; the value is the scenario's number. */
export const CHARTS_ATTRIBUTE = 'data-charts';
export const RING_ATTRIBUTE = 'data-ring';
