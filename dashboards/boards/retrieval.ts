import type { Board } from '../board.ts';
import { increase, ofNodes, ofRun, quantile, rate, share, sum } from '../queries.ts';

const perSecond = (name: string) => sum(rate(ofNodes(name)));

export const retrieval: Board = {
  uid: 'svcnet-retrieval',
  title: 'svcnet 3: Retrieval path',
  about: 'How chunks are found and delivered.',
  rows: [
    {
      title: 'Requests of nodes for chunks',
      panels: [
        {
          kind: 'series',
          title: 'Time to have a chunk',
          about: 'From asking the network for a chunk to having it, all peers that were asked included.',
          unit: 'seconds',
          queries: [
            { expr: quantile(0.5, ofNodes('retrieval_request_duration_time_bucket')), legend: 'p50' },
            { expr: quantile(0.95, ofNodes('retrieval_request_duration_time_bucket')), legend: 'p95' },
            { expr: quantile(0.99, ofNodes('retrieval_request_duration_time_bucket')), legend: 'p99' },
          ],
        },
        {
          kind: 'series',
          title: 'Time of one attempt with one peer',
          about: 'Grows with the peers behind the one that was asked.',
          unit: 'seconds',
          queries: [
            { expr: quantile(0.5, ofNodes('retrieval_retrieve_chunk_time_bucket')), legend: 'p50' },
            { expr: quantile(0.99, ofNodes('retrieval_retrieve_chunk_time_bucket')), legend: 'p99' },
          ],
        },
        {
          kind: 'series',
          title: 'Requests',
          about: 'Chunks that nodes asked the network for; what lies in the local store is not among them.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('retrieval_request_count'), legend: 'asked for' },
            { expr: perSecond('retrieval_request_success_count'), legend: 'found' },
            { expr: perSecond('retrieval_request_failure_count'), legend: 'not found' },
          ],
        },
        {
          kind: 'series',
          title: 'Failed requests',
          about: 'Share of the chunks asked for that no peer delivered.',
          unit: 'ratio',
          queries: [
            {
              expr: share(perSecond('retrieval_request_failure_count'), perSecond('retrieval_request_count')),
              legend: 'not found',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Peers asked for one chunk',
          about: 'Of chunks that were found.',
          unit: 'count',
          queries: [
            { expr: quantile(0.5, ofNodes('retrieval_request_attempts_bucket')), legend: 'p50' },
            { expr: quantile(0.99, ofNodes('retrieval_request_attempts_bucket')), legend: 'p99' },
          ],
        },
        {
          kind: 'series',
          title: 'Bad answers of peers',
          about:
            'Requests to one peer that failed, and deliveries whose data did not belong to the address. The latter is never an accident.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('retrieval_total_errors'), legend: 'failed' },
            { expr: perSecond('retrieval_invalid_chunk_retrieved'), legend: 'invalid data' },
          ],
        },
        {
          kind: 'series',
          title: 'Failed requests to one peer',
          about: 'Share of the requests to one peer that failed; another peer may have delivered the chunk.',
          unit: 'ratio',
          queries: [
            {
              expr: share(perSecond('retrieval_total_errors'), perSecond('retrieval_peer_request_count')),
              legend: 'failed',
            },
          ],
        },
        {
          kind: 'heatmap',
          title: 'Distribution of the time to have a chunk',
          about: 'How many chunks took how long.',
          unit: 'count',
          upwards: 'seconds',
          histogram: true,
          width: 16,
          query: {
            expr: sum(increase(ofNodes('retrieval_request_duration_time_bucket')), 'le'),
            legend: '{{le}}',
          },
        },
      ],
    },
    {
      title: 'What clients see',
      panels: [
        {
          kind: 'series',
          title: 'Operations by size, p50',
          about: 'Latency of the operations of the run, by the largest payload of the class.',
          unit: 'seconds',
          width: 12,
          queries: [
            {
              expr: quantile(0.5, ofRun('op_seconds_bucket'), 'op', 'size_class'),
              legend: '{{op}} {{size_class}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Operations by size, p99',
          about: 'Latency of the operations of the run, by the largest payload of the class.',
          unit: 'seconds',
          width: 12,
          queries: [
            {
              expr: quantile(0.99, ofRun('op_seconds_bucket'), 'op', 'size_class'),
              legend: '{{op}} {{size_class}}',
            },
          ],
        },
      ],
    },
  ],
};
