/** Figures and alerts for Prometheus, with either prefix, `svc` and `bee`. */

interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

interface AlertRule {
  readonly alert: string;
  /** Always present. */
  readonly value: string;
  /** Makes a series that exists only while something is wrong. */
  readonly condition: string;
  readonly for: string;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly description: string;
}

const nodes = (name: string) => `{__name__=~"(svc|bee)_${name}"}`;
const rate = (selector: string) => `rate(${selector}[1m])`;

const operations = `sum by (run) (${rate('testbed_op_total')})`;

export const RECORDING_RULES: readonly RecordingRule[] = [
  {
    record: 'run:testbed_op_errors:ratio_rate1m',
    // Without errors there is no series of them.
    expr: `(sum by (run) (${rate('testbed_op_total{result="error"}')}) or ${operations} * 0) / ${operations}`,
  },
  {
    record: 'run_op:testbed_op_seconds:p99_1m',
    expr: `histogram_quantile(0.99, sum by (run, op, le) (${rate('testbed_op_seconds_bucket')}))`,
  },
  {
    record: 'run:testbed_op_bytes:rate1m',
    expr: `sum by (run) (${rate('testbed_op_bytes_total')})`,
  },
  {
    record: 'node:pushing_chunks:sum',
    expr: `sum by (node) (${nodes('pusher_total_to_push')} - on (node) ${nodes('pusher_total_synced')})`,
  },
  {
    record: 'node:push_failures:ratio_rate1m',
    expr: `sum by (node) (${rate(nodes('pushsync_total_failed_send_attempts'))}) / sum by (node) (${rate(nodes('pushsync_total_send_attempts'))})`,
  },
  {
    record: 'network:push_seconds:p99_1m',
    expr: `histogram_quantile(0.99, sum by (le) (${rate(nodes('pusher_sync_time_bucket'))}))`,
  },
  {
    record: 'network:retrieval_seconds:p99_1m',
    expr: `histogram_quantile(0.99, sum by (le) (${rate(nodes('retrieval_request_duration_time_bucket'))}))`,
  },
];

/** Faults are done on purpose: their effects are no news. */
const noFault = 'unless on (run) (max by (run) (testbed_fault_active) > 0)';
/** A node with bad links, a full disk or a wrong clock goes on. */
const TAKEN_DOWN = 'kill|power-cut|pause|stop|restart|rolling-restart|churn|flip-bits|memory';
const notDoneOnPurpose = `unless on (run, node) label_replace(testbed_fault_active{kind=~"${TAKEN_DOWN}"}, "node", "$1", "target", "(.*)")`;

export const ALERT_RULES: readonly AlertRule[] = [
  {
    alert: 'WrongData',
    value: 'sum by (run) (testbed_op_total{class="data.mismatch"}) or sum by (run) (testbed_op_total) * 0',
    condition: '> 0',
    for: '0s',
    severity: 'critical',
    summary: '{{ $value }} operations of {{ $labels.run }} returned wrong data',
    description: 'A download delivered other bytes than were uploaded. The report of the run names them.',
  },
  {
    alert: 'ChunksLost',
    value: 'max by (run) (testbed_ledger_missing_total)',
    condition: '> 0',
    for: '0s',
    severity: 'critical',
    summary: '{{ $value }} acknowledged chunks of {{ $labels.run }} are missing',
    description: 'No node that should have them does. The ledger in the folder of the run names them.',
  },
  {
    alert: 'ErrorsOutsideFaults',
    value: 'run:testbed_op_errors:ratio_rate1m',
    condition: `> 0.01 ${noFault}`,
    for: '1m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of the operations of {{ $labels.run }} fail',
    description: 'More than 1 % for a minute while no fault is active. Board Overview shows their classes.',
  },
  {
    alert: 'NodeDown',
    value: 'testbed_node_up',
    condition: `== 0 ${notDoneOnPurpose}`,
    for: '5s',
    severity: 'critical',
    summary: '{{ $labels.node }} is down',
    description:
      'It does not run or does not answer, and nothing in the testbed stopped it. Its last words: svcnet logs {{ $labels.node }}',
  },
  {
    alert: 'PushBacklogGrows',
    value: 'deriv(node:pushing_chunks:sum[5m])',
    condition: '> 0',
    for: '5m',
    severity: 'warning',
    summary: 'the push backlog of {{ $labels.node }} grows',
    description:
      'For five minutes chunks have come faster than their receipts. Board Push path shows what they wait for.',
  },
  {
    alert: 'MemoryGrows',
    value: 'deriv(testbed_node_rss_bytes[30m]) * 3600 / avg_over_time(testbed_node_rss_bytes[30m])',
    condition: '> 0.05',
    for: '30m',
    severity: 'warning',
    summary: '{{ $labels.node }} grows by {{ $value | humanizePercentage }} an hour',
    description: 'More than 5 % an hour, for half an hour: a leak, or a cache that is not full yet.',
  },
];

export function ruleFile(): object {
  return {
    groups: [
      {
        name: 'svcnet',
        interval: '5s',
        rules: RECORDING_RULES.map(({ record, expr }) => ({ record, expr })),
      },
      {
        name: 'svcnet-alerts',
        interval: '5s',
        rules: ALERT_RULES.map(({ alert, value, condition, severity, summary, description, ...rule }) => ({
          alert,
          expr: `(${value}) ${condition}`,
          for: rule.for,
          labels: { severity },
          annotations: { summary, description },
        })),
      },
    ],
  };
}
