import type { MetricTable } from '../../env/metrics.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** `node-behaviour.md` 12. */
export const RETRIEVAL_METRICS = {
  requests: { kind: 'counter', name: 'retrieval_request_count', help: 'Chunks requested by this node.' },
  successes: {
    kind: 'counter',
    name: 'retrieval_request_success_count',
    help: 'Chunks requested by this node and found.',
  },
  failures: {
    kind: 'counter',
    name: 'retrieval_request_failure_count',
    help: 'Chunks requested by this node and not found.',
  },
  peerRequests: { kind: 'counter', name: 'retrieval_peer_request_count', help: 'Requests sent to peers.' },
  retrieved: { kind: 'counter', name: 'retrieval_total_retrieved', help: 'Chunks received from peers.' },
  invalid: {
    kind: 'counter',
    name: 'retrieval_invalid_chunk_retrieved',
    help: 'Deliveries whose data does not match the address.',
  },
  errors: { kind: 'counter', name: 'retrieval_total_errors', help: 'Requests to peers that failed.' },
  chunkPrice: {
    kind: 'summary',
    name: 'retrieval_chunk_price',
    help: 'Prices of chunks received from peers, accounting units.',
  },
  requestTime: {
    kind: 'histogram',
    name: 'retrieval_request_duration_time',
    help: 'Time from the request for a chunk to its arrival, seconds.',
    buckets: SECONDS,
  },
  chunkTime: {
    kind: 'histogram',
    name: 'retrieval_retrieve_chunk_time',
    help: 'Duration of one attempt with one peer, seconds.',
    buckets: SECONDS,
  },
  attempts: {
    kind: 'histogram',
    name: 'retrieval_request_attempts',
    help: 'Peers asked per chunk that was found.',
    buckets: [1, 2, 3, 4, 6, 8, 16, 32],
  },
} as const satisfies MetricTable;
