import { eventLanes } from '../chart/lanes.ts';
import { TimeChart } from '../chart/time-chart.ts';
import { networkRing } from './network-ring.ts';
import { CHARTS_ATTRIBUTE, DATA_ID, type ReportPageData, RING_ATTRIBUTE } from './page-data.ts';

const data = JSON.parse(document.getElementById(DATA_ID)?.textContent ?? '') as ReportPageData;

for (const [i, { frame, charts, picture }] of data.scenarios.entries()) {
  const drawings = charts.map((chart) => new TimeChart(chart, frame).root);
  place(CHARTS_ATTRIBUTE, i, [eventLanes(frame), ...drawings]);
  if (picture !== undefined) place(RING_ATTRIBUTE, i, [networkRing(picture)]);
}

function place(attribute: string, scenario: number, drawings: readonly HTMLElement[]): void {
  document.querySelector(`[${attribute}="${scenario}"]`)?.append(...drawings);
}
