import {
  AnnotationQueryBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { appeared, changed, highest, increase, ofNodes, ofProcesses, ofRun } from './queries.ts';

export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;
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
  ];
}

/**
 * No step or smallest interval: Grafana would take it for the scrape interval. Expressions look back over a window, so what
 * is shorter than a step is seen.
 */
export function annotations() {
  const mark = (name: string, color: string, title: string, text: string, expr: string) =>
    new AnnotationQueryBuilder()
      .name(name)
      .datasource(DATASOURCE)
      .enable(true)
      .iconColor(color)
      .titleFormat(title)
      .textFormat(text)
      .expr(expr)
      .target(new DataqueryBuilder().expr(expr).refId(name));
  return [
    mark('Phases', 'blue', 'end of a phase', '{{scenario}}: {{phase}}', appeared(ofRun('phase_seconds'))),
    mark(
      'Faults',
      'orange',
      'fault',
      '{{kind}} {{target}}',
      `max by (kind, target) (${highest(ofRun('fault_active'))}) > 0`,
    ),
    mark(
      'Restarts',
      'purple',
      'restart',
      '{{node}}',
      `max by (node) (${changed(ofProcesses('process_start_time_seconds'))})`,
    ),
    mark(
      'Chain reorganisations',
      'red',
      'chain reorganisation',
      'seen by {{node}}',
      `sum by (node) (${increase(ofNodes('postage_listener_pages_taken_back'))}) > 0`,
    ),
  ];
}
