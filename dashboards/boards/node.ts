import { type Board, UP_DOWN } from '../board.ts';
import { ofMembers, ofNodes, ofProcesses, quantile, rate, sum } from '../queries.ts';

const byNode = (expr: string) => ({ expr: sum(expr, 'node'), legend: '{{node}}' });

export const node: Board = {
  uid: 'svcnet-node',
  title: 'svcnet 9: Node',
  about: 'Process, runtime, API and streams of the chosen nodes. Their logs: svcnet logs NODE --follow.',
  rows: [
    {
      title: 'Process',
      panels: [
        {
          kind: 'timeline',
          title: 'Scraped',
          about:
            'Whether Prometheus gets metrics from the node. Down: it does not run, or does not answer in time.',
          unit: 'count',
          width: 24,
          words: UP_DOWN,
          query: { expr: `max by (node) (${ofProcesses('up')})`, legend: '{{node}}' },
        },
        {
          kind: 'stat',
          title: 'Version',
          about: 'Nodes of each version.',
          unit: 'count',
          query: { expr: `count by (version) (${ofNodes('info')})`, legend: '{{version}}' },
        },
        {
          kind: 'stat',
          title: 'Uptime',
          about: 'Time since the process of the node was started.',
          unit: 'duration',
          query: {
            expr: `time() - max by (node) (${ofProcesses('process_start_time_seconds')})`,
            legend: '{{node}}',
          },
        },
        {
          kind: 'stat',
          title: 'Restarts',
          about: 'Times that the process was started again within the time that the board shows.',
          unit: 'count',
          query: {
            expr: `max by (node) (changes(${ofProcesses('process_start_time_seconds')}[$__range]))`,
            legend: '{{node}}',
          },
        },
        {
          kind: 'series',
          title: 'Lines logged',
          about: 'Lines of each level, all chosen nodes together. Errors need an operator; warnings may.',
          unit: 'perSecond',
          queries: ['error', 'warn', 'info', 'debug'].map((level) => ({
            expr: sum(rate(ofNodes(`log_${level}_count`))),
            legend: level,
          })),
        },
        {
          kind: 'series',
          title: 'Duration of a scrape',
          about: 'Time that the node took to say its metrics: long when its event loop is busy.',
          unit: 'seconds',
          queries: [byNode(ofProcesses('scrape_duration_seconds'))],
        },
        {
          kind: 'series',
          title: 'Processors',
          about: 'Processors that the process keeps busy: 1 is one whole processor.',
          unit: 'processors',
          queries: [byNode(rate(ofProcesses('process_cpu_seconds_total')))],
        },
        {
          kind: 'series',
          title: 'Processors, as the testbed sees it',
          about: 'Measured from outside, also of nodes that say nothing of their process, such as Bees.',
          unit: 'processors',
          queries: [byNode(rate(ofMembers('node_cpu_seconds_total')))],
        },
        {
          kind: 'series',
          title: 'Resident memory',
          about: 'What the process occupies of the memory of its machine.',
          unit: 'bytes',
          queries: [byNode(ofProcesses('process_resident_memory_bytes'))],
        },
        {
          kind: 'series',
          title: 'Resident memory, as the testbed sees it',
          about: 'Measured from outside, also of nodes that say nothing of their process.',
          unit: 'bytes',
          queries: [byNode(ofMembers('node_rss_bytes'))],
        },
        {
          kind: 'series',
          title: 'Open files and sockets',
          about: 'File descriptors of the process.',
          unit: 'count',
          queries: [byNode(ofProcesses('process_open_fds'))],
        },
      ],
    },
    {
      title: 'Runtime (Node.js)',
      panels: [
        {
          kind: 'series',
          title: 'Heap in use',
          about: 'Memory of JavaScript objects.',
          unit: 'bytes',
          queries: [byNode(ofProcesses('nodejs_heap_size_used_bytes'))],
        },
        {
          kind: 'series',
          title: 'Event-loop delay',
          about: 'How late the event loop comes to its work, since the scrape before.',
          unit: 'seconds',
          queries: [
            { expr: ofProcesses('nodejs_eventloop_lag_p50_seconds'), legend: '{{node}} p50' },
            { expr: ofProcesses('nodejs_eventloop_lag_p99_seconds'), legend: '{{node}} p99' },
            { expr: ofProcesses('nodejs_eventloop_lag_max_seconds'), legend: '{{node}} max' },
          ],
        },
        {
          kind: 'series',
          title: 'Time in garbage collection',
          about: 'Share of the time, by kind.',
          unit: 'ratio',
          queries: [
            {
              expr: sum(rate(ofProcesses('nodejs_gc_duration_seconds_sum')), 'node', 'kind'),
              legend: '{{node}} {{kind}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Handles and requests',
          about: 'What keeps the event loop alive: sockets, timers, files.',
          unit: 'count',
          queries: [byNode(ofProcesses('nodejs_active_resources_total'))],
        },
      ],
    },
    {
      title: 'API and streams',
      panels: [
        {
          kind: 'series',
          title: 'Answers by status',
          about: 'Answers of the HTTP API.',
          unit: 'requestsPerSecond',
          queries: [
            {
              expr: sum(rate(ofNodes('api_response_code_count')), 'node', 'code'),
              legend: '{{node}} {{code}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Time to an answer',
          about: 'From the request line to the end of the answer, bodies included.',
          unit: 'seconds',
          queries: [
            {
              expr: quantile(0.5, ofNodes('api_response_duration_seconds_bucket'), 'node'),
              legend: '{{node}} p50',
            },
            {
              expr: quantile(0.99, ofNodes('api_response_duration_seconds_bucket'), 'node'),
              legend: '{{node}} p99',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Streams opened',
          about: 'Protocol streams to peers.',
          unit: 'perSecond',
          queries: [byNode(rate(ofNodes('libp2p_created_stream_count')))],
        },
        {
          kind: 'series',
          title: 'Streams served',
          about: 'Protocol streams of peers.',
          unit: 'perSecond',
          queries: [byNode(rate(ofNodes('libp2p_handled_stream_count')))],
        },
      ],
    },
  ],
};
