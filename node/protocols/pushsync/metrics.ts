import type { MetricTable } from '../../env/metrics.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** `node-behaviour.md` 12. */
export const PUSHSYNC_METRICS = {
  sent: { kind: 'counter', name: 'pushsync_total_sent', help: 'Deliveries sent to peers.' },
  received: { kind: 'counter', name: 'pushsync_total_received', help: 'Deliveries received.' },
  requests: { kind: 'counter', name: 'pushsync_total_requests', help: "This node's chunks to push." },
  outgoing: {
    kind: 'counter',
    name: 'pushsync_total_outgoing',
    help: "This node's chunks pushed and acknowledged by a receipt.",
  },
  outgoingErrors: {
    kind: 'counter',
    name: 'pushsync_total_outgoing_errors',
    help: "This node's chunks whose push failed.",
  },
  attempts: {
    kind: 'counter',
    name: 'pushsync_total_send_attempts',
    help: 'Pushes attempted with one peer.',
  },
  failedAttempts: {
    kind: 'counter',
    name: 'pushsync_total_failed_send_attempts',
    help: 'Pushes that failed with one peer.',
  },
  handlerErrors: {
    kind: 'counter',
    name: 'pushsync_total_handler_errors',
    help: 'Deliveries received and refused.',
  },
  forwarder: { kind: 'counter', name: 'pushsync_forwarder', help: 'Deliveries forwarded.' },
  noRoom: {
    kind: 'counter',
    name: 'pushsync_no_room',
    help: 'Deliveries refused because the reserve was full.',
  },
  storer: { kind: 'counter', name: 'pushsync_storer', help: 'Deliveries stored.' },
  shallow: {
    kind: 'counter',
    name: 'pushsync_shallow_receipt',
    help: 'Receipts from storers outside the neighbourhood.',
  },
  shallowDepth: {
    kind: 'counter',
    name: 'pushsync_shallow_receipt_depth',
    help: 'Shallow receipts by proximity order of the storer.',
    labels: ['depth'],
  },
  receiptDepth: {
    kind: 'counter',
    name: 'pushsync_receipt_depth',
    help: 'Receipts by proximity order of the storer.',
    labels: ['depth'],
  },
  overdraftRefresh: {
    kind: 'counter',
    name: 'pushsync_overdraft_refresh',
    help: 'Peers over their credit limit until the next refresh.',
  },
  invalidStamps: {
    kind: 'counter',
    name: 'pushsync_invalid_stamps',
    help: 'Deliveries with an invalid stamp.',
  },
  pushTime: {
    kind: 'histogram',
    name: 'pushsync_push_peer_time',
    help: 'Duration of one push to one peer, seconds.',
    labels: ['status'],
    buckets: SECONDS,
  },
  handlerTime: {
    kind: 'histogram',
    name: 'pushsync_total_handler_time',
    help: 'Time from a delivery to its receipt, seconds.',
    labels: ['status'],
    buckets: SECONDS,
  },
  stampTime: {
    kind: 'histogram',
    name: 'pushsync_stamp_validation_time',
    help: 'Time to validate a stamp, seconds.',
    labels: ['status'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1],
  },
} as const satisfies MetricTable;

export const PUSHER_METRICS = {
  toPush: { kind: 'counter', name: 'pusher_total_to_push', help: 'Attempts to push a chunk.' },
  synced: { kind: 'counter', name: 'pusher_total_synced', help: 'Attempts finished, including failed ones.' },
  errors: { kind: 'counter', name: 'pusher_total_errors', help: 'Attempts that failed.' },
  syncTime: {
    kind: 'histogram',
    name: 'pusher_sync_time',
    help: 'Duration of successful attempts, seconds.',
    buckets: SECONDS,
  },
  errorTime: {
    kind: 'histogram',
    name: 'pusher_error_time',
    help: 'Duration of failed attempts, seconds.',
    buckets: SECONDS,
  },
} as const satisfies MetricTable;
