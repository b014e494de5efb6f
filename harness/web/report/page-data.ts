/** What `report.html` carries as JSON beside its text: what is drawn when it is opened. */
import type { NetworkPicture } from '../../picture/picture.ts';
import type { ChartFrame, TimeChartData } from '../chart/chart-data.ts';

export interface ReportPageData {
  readonly scenarios: readonly ScenarioDrawings[];
}

export interface ScenarioDrawings {
  readonly frame: ChartFrame;
  readonly charts: readonly TimeChartData[];
  readonly picture?: NetworkPicture;
}

/** Of the script element with the data. */
export const DATA_ID = 'report-data';
/** Attributes of the elements that drawings go into; their value is the number of the scenario. */
export const CHARTS_ATTRIBUTE = 'data-charts';
export const RING_ATTRIBUTE = 'data-ring';
