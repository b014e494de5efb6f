import { type Board, PASSED_FAILED } from '../board.ts';
import {
  increase,
  last,
  ofMembers,
  ofNodes,
  ofProcesses,
  ofRun,
  orZero,
  quantile,
  rate,
  share,
  sum,
} from '../queries.ts';

const errors = rate(ofRun('op_total', 'result="error"'));
const operations = rate(ofRun('op_total'));

export const overview: Board = {
  uid: 'svcnet-overview',
  title: 'svcnet 1: Overview',
  about: 'Result, traffic, latency, errors and resources of a run.',
  rows: [
    {
      title: 'Verdict',
      panels: [
        {
          kind: 'stat',
          title: 'Scenarios',
          about: 'The worst result of the scenarios that have ended. No value: none has ended yet.',
          unit: 'count',
          width: 4,
          words: PASSED_FAILED,
          query: { expr: `min(${last(ofRun('scenario_result'))})`, legend: 'worst result' },
        },
        {
          kind: 'stat',
          title: 'Conditions not met',
          about: 'Conditions of scenarios that turned out to be false.',
          unit: 'count',
          width: 4,
          redFrom: 1,
          query: {
            expr: orZero(
              sum(last(ofRun('assertion_total', 'result="failed"'))),
              sum(last(ofRun('assertion_total'))),
            ),
            legend: 'failed',
          },
        },
        {
          kind: 'stat',
          title: 'Lost chunks',
          about: 'Chunks whose upload was acknowledged and that the last verification did not find.',
          unit: 'count',
          width: 4,
          redFrom: 1,
          query: { expr: sum(ofRun('ledger_missing_total')), legend: 'missing' },
        },
        {
          kind: 'stat',
          title: 'Downloads with wrong data',
          about: 'Operations that returned other bytes than were uploaded.',
          unit: 'count',
          width: 4,
          redFrom: 1,
          query: {
            expr: orZero(sum(ofRun('op_total', 'class="data.mismatch"')), sum(ofRun('op_total'))),
            legend: 'mismatches',
          },
        },
        {
          kind: 'stat',
          title: 'Nodes up',
          about: 'Nodes that run and answer.',
          unit: 'count',
          width: 4,
          query: { expr: sum(ofMembers('node_up')), legend: 'up' },
        },
        {
          kind: 'stat',
          title: 'Nodes down',
          about: 'Nodes that do not run, whether they were stopped on purpose or crashed.',
          unit: 'count',
          width: 4,
          redFrom: 1,
          query: { expr: `count(${ofMembers('node_up')}) - ${sum(ofMembers('node_up'))}`, legend: 'down' },
        },
      ],
    },
    {
      title: 'Traffic',
      panels: [
        {
          kind: 'series',
          title: 'Throughput by operation',
          about: 'Payload of operations that have succeeded. An operation counts when it ends.',
          unit: 'bytesPerSecond',
          stacked: true,
          queries: [{ expr: sum(rate(ofRun('op_bytes_total')), 'op'), legend: '{{op}}' }],
        },
        {
          kind: 'series',
          title: 'Operations',
          about: 'Operations that have ended, by result.',
          unit: 'requestsPerSecond',
          queries: [{ expr: sum(operations, 'op', 'result'), legend: '{{op}}: {{result}}' }],
        },
        {
          kind: 'series',
          title: 'Chunks',
          about: 'Chunks that nodes push, store, forward, retrieve and pull, all nodes together.',
          unit: 'perSecond',
          queries: [
            { expr: sum(rate(ofNodes('pushsync_total_sent'))), legend: 'sent by push' },
            { expr: sum(rate(ofNodes('pushsync_storer'))), legend: 'stored' },
            { expr: sum(rate(ofNodes('pushsync_forwarder'))), legend: 'forwarded' },
            { expr: sum(rate(ofNodes('retrieval_total_retrieved'))), legend: 'retrieved' },
            { expr: sum(rate(ofNodes('pullsync_chunks_delivered'))), legend: 'pulled' },
          ],
        },
      ],
    },
    {
      title: 'Latency',
      panels: [
        ...([0.5, 0.95, 0.99] as const).map((q) => ({
          kind: 'series' as const,
          title: `Latency by operation, p${q * 100}`,
          about: `Of operations that have succeeded: ${q * 100} % took at most this long.`,
          unit: 'seconds' as const,
          width: 6,
          queries: [{ expr: quantile(q, ofRun('op_seconds_bucket'), 'op'), legend: '{{op}}' }],
        })),
        {
          kind: 'heatmap',
          title: 'Latency distribution',
          about: 'How many operations took how long, all operations together.',
          unit: 'count',
          upwards: 'seconds',
          width: 6,
          histogram: true,
          query: { expr: sum(increase(ofRun('op_seconds_bucket')), 'le'), legend: '{{le}}' },
        },
      ],
    },
    {
      title: 'Errors',
      panels: [
        {
          kind: 'series',
          title: 'Errors by class',
          about: 'Operations that have failed, by class, such as http.503 or client.connect.',
          unit: 'perSecond',
          stacked: true,
          queries: [{ expr: sum(errors, 'class'), legend: '{{class}}' }],
        },
        {
          kind: 'series',
          title: 'Error ratio',
          about: 'Share of operations that have failed.',
          unit: 'ratio',
          queries: [
            {
              expr: share(sum(errors), sum(operations)),
              legend: 'failed',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Error ratio outside faults',
          about: 'The same while no fault is active: these errors have no excuse. Gaps are faults.',
          unit: 'ratio',
          queries: [
            {
              expr: `(${share(sum(errors), sum(operations))}) unless on() (max(${ofRun('fault_active')}) > 0)`,
              legend: 'failed outside faults',
            },
          ],
        },
      ],
    },
    {
      title: 'Resources',
      panels: [
        {
          kind: 'series',
          title: 'Processors by node',
          about: 'Processors that each node keeps busy: 1 is one whole processor.',
          unit: 'processors',
          queries: [{ expr: sum(rate(ofMembers('node_cpu_seconds_total')), 'node'), legend: '{{node}}' }],
        },
        {
          kind: 'series',
          title: 'Memory by node',
          about: 'Resident memory of each node.',
          unit: 'bytes',
          queries: [{ expr: sum(ofMembers('node_rss_bytes'), 'node'), legend: '{{node}}' }],
        },
        {
          kind: 'series',
          title: 'Event-loop delay, p99',
          about:
            'How late the event loop of each node comes to its work. Of nodes that run on Node.js in a process of their own.',
          unit: 'seconds',
          queries: [{ expr: ofProcesses('nodejs_eventloop_lag_p99_seconds'), legend: '{{node}}' }],
        },
      ],
    },
  ],
};
