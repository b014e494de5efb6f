/** What every board has: the choices at its top, and the marks on its time axis. */
import {
  AnnotationQueryBuilder,
  DatasourceVariableBuilder,
  IntervalVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { ofNodes, ofProcesses, ofRun } from './queries.ts';

export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;
/** Rates need two scrapes within the interval. */
const INTERVALS = ['5s', '15s', '30s', '1m', '5m', '30m'];
const DEFAULT_INTERVAL = '15s';
const ALL = { selected: true, text: 'All', value: '$__all' } as const;

export function variables() {
  const query = (name: string, label: string, about: string, definition: string) =>
    new QueryVariableBuilder(name)
      .label(label)
      .description(about)
      .datasource(DATASOURCE)
      .query({ query: definition, refId: name })
      .definition(definition)
      .refresh(VariableRefresh.OnTimeRangeChanged)
      .sort(VariableSort.NaturalAsc);
  return [
    new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
    query(
      'namespace',
      'Namespace',
      'Prefix of the metrics of nodes: svc, or bee for Bees and for nodes with their dialect',
      'metrics(^(svc|bee)_libp2p_created_connection_count$)',
    )
      .regex('/^(svc|bee)_/')
      .multi(true)
      .includeAll(true)
      .current(ALL),
    query(
      'run',
      'Run',
      'Run of scenarios or of a load, the latest first',
      'label_values(testbed_node_up, run)',
    ).sort(VariableSort.NaturalDesc),
    query('group', 'Group', 'Group of nodes', 'label_values(up{job="nodes"}, group)')
      .multi(true)
      .includeAll(true)
      .current(ALL),
    query('node', 'Node', 'Nodes', 'label_values(up{job="nodes",group=~"$group"}, node)')
      .multi(true)
      .includeAll(true)
      .current(ALL),
    new IntervalVariableBuilder('interval')
      .label('Interval')
      .description('Time that rates and percentiles are taken over')
      .values(INTERVALS.join(','))
      .current({ selected: true, text: DEFAULT_INTERVAL, value: DEFAULT_INTERVAL }),
  ];
}

export function annotations() {
  const mark = (name: string, color: string, title: string, text: string, expr: string) =>
    new AnnotationQueryBuilder()
      .name(name)
      .datasource(DATASOURCE)
      .enable(true)
      .iconColor(color)
      .titleFormat(title)
      .textFormat(text)
      .step('1s')
      .expr(expr)
      .target(new DataqueryBuilder().expr(expr).refId(name).interval('1s'));
  const phases = ofRun('phase_seconds');
  return [
    mark(
      'Phases',
      'blue',
      'end of a phase',
      '{{scenario}}: {{phase}}',
      `${phases} unless ${phases} offset 5s`,
    ),
    mark(
      'Faults',
      'orange',
      'fault',
      '{{kind}} {{target}}',
      `max by (kind, target) (${ofRun('fault_active')}) > 0`,
    ),
    mark(
      'Restarts',
      'purple',
      'restart',
      '{{node}}',
      `max by (node) (changes(${ofProcesses('process_start_time_seconds')}[15s])) > 0`,
    ),
    mark(
      'Chain reorganisations',
      'red',
      'chain reorganisation',
      'seen by {{node}}',
      `sum by (node) (increase(${ofNodes('postage_listener_pages_taken_back')}[15s])) > 0`,
    ),
  ];
}
