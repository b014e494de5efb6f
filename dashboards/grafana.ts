import * as common from '@grafana/grafana-foundation-sdk/common';
import { BigValueColorMode, BigValueGraphMode, StackingMode } from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  MappingType,
  RowBuilder,
  type ThresholdsConfig,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as timeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as series from '@grafana/grafana-foundation-sdk/timeseries';
import {
  type Board,
  type HeatmapPanel,
  type Panel,
  type Query,
  type StatPanel,
  type TimelinePanel,
  type TimeSeriesPanel,
  UNITS,
  type Words,
} from './board.ts';
import { annotations, DATASOURCE, variables } from './variables.ts';

const HEIGHT = 8;
const STAT_HEIGHT = 4;
const WIDTH = 8;
/** Boards find each other by it. */
const TAG = 'svcnet';

export function dashboard(board: Board): Dashboard {
  const builder = new DashboardBuilder(board.title)
    .uid(board.uid)
    .description(board.about)
    .tags([TAG])
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-15m', to: 'now' })
    .refresh('5s')
    .variables(variables())
    .annotations(annotations())
    .link(
      new DashboardLinkBuilder('Boards')
        .type(DashboardLinkType.Dashboards)
        .tags([TAG])
        .asDropdown(true)
        .includeVars(true)
        .keepTime(true),
    );
  let id = 0;
  for (const row of board.rows) {
    builder.withRow(new RowBuilder(row.title).id(++id));
    for (const panel of row.panels) builder.withPanel(panelOf(panel).id(++id));
  }
  return builder.build();
}

function panelOf(panel: Panel) {
  switch (panel.kind) {
    case 'series':
      return seriesPanel(panel);
    case 'stat':
      return statPanel(panel);
    case 'timeline':
      return timelinePanel(panel);
    case 'heatmap':
      return heatmapPanel(panel);
  }
}

function target({ expr, legend }: Query, index = 0): DataqueryBuilder {
  return new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(String.fromCharCode('A'.charCodeAt(0) + index))
    .expr(expr)
    .legendFormat(legend);
}

function seriesPanel({ title, about, unit, width = WIDTH, queries, stacked = false }: TimeSeriesPanel) {
  const panel = new series.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .span(width)
    .height(HEIGHT)
    .unit(UNITS[unit])
    .min(0)
    .fillOpacity(stacked ? 40 : 0)
    .stacking(new common.StackingConfigBuilder().mode(stacked ? StackingMode.Normal : StackingMode.None))
    .legend(
      new common.VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(common.LegendDisplayMode.Table)
        .placement(common.LegendPlacement.Bottom)
        .calcs(['lastNotNull', 'max']),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder()
        .mode(common.TooltipDisplayMode.Multi)
        .sort(common.SortOrder.Descending),
    );
  for (const [index, query] of queries.entries()) panel.withTarget(target(query, index).range());
  return panel;
}

function statPanel({ title, about, unit, width = WIDTH, query, redFrom, words }: StatPanel) {
  return (
    new stat.PanelBuilder()
      .title(title)
      .description(about)
      .datasource(DATASOURCE)
      .span(width)
      .height(STAT_HEIGHT)
      .unit(UNITS[unit])
      .thresholds(thresholds(redFrom))
      .mappings(words === undefined ? [] : [mapping(words)])
      .colorMode(BigValueColorMode.Value)
      .graphMode(BigValueGraphMode.None)
      .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false))
      // Within the time shown: an ended run says nothing more.
      .withTarget(target(query).range())
  );
}

function timelinePanel({ title, about, unit, width = WIDTH, query, words }: TimelinePanel) {
  return new timeline.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .span(width)
    .height(HEIGHT)
    .unit(UNITS[unit])
    .mappings([mapping(words)])
    .mergeValues(true)
    .showValue(common.VisibilityMode.Never)
    .withTarget(target(query).range());
}

function heatmapPanel({ title, about, unit, upwards, width = WIDTH, query, histogram }: HeatmapPanel) {
  return new heatmap.PanelBuilder()
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .span(width)
    .height(HEIGHT)
    .yAxis(new heatmap.YAxisConfigBuilder().unit(UNITS[upwards]))
    .cellValues(new heatmap.CellValuesBuilder().unit(UNITS[unit]))
    .color(
      new heatmap.HeatmapColorOptionsBuilder()
        .mode(heatmap.HeatmapColorMode.Scheme)
        .scheme('Blues')
        .steps(64),
    )
    .withTarget(
      target(query)
        .range()
        .format(histogram === true ? PromQueryFormat.Heatmap : PromQueryFormat.TimeSeries),
    );
}

function thresholds(redFrom: number | undefined): ThresholdsConfigBuilder {
  const steps: ThresholdsConfig['steps'] =
    redFrom === undefined
      ? [{ value: null, color: 'text' }]
      : [
          { value: null, color: 'green' },
          { value: redFrom, color: 'red' },
        ];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

function mapping(words: Words): ValueMapping {
  return {
    type: MappingType.ValueToText,
    options: Object.fromEntries(
      Object.entries(words).map(([value, word], index) => [value, { ...word, index }]),
    ),
  };
}
