import type { MetricTable } from '../../env/metrics.ts';

/** `node-behaviour.md` 12. */
export const PULLSYNC_METRICS = {
  offered: { kind: 'counter', name: 'pullsync_chunks_offered', help: 'Chunks that peers offered.' },
  wanted: { kind: 'counter', name: 'pullsync_chunks_wanted', help: 'Chunks asked of peers.' },
  delivered: {
    kind: 'counter',
    name: 'pullsync_chunks_delivered',
    help: 'Valid chunks that peers delivered.',
  },
  sentOffered: { kind: 'counter', name: 'pullsync_chunks_sent_offered', help: 'Chunks offered to peers.' },
  sentWanted: { kind: 'counter', name: 'pullsync_chunks_sent_wanted', help: 'Chunks that peers asked for.' },
  sent: { kind: 'counter', name: 'pullsync_chunks_sent', help: 'Deliveries written, empty ones included.' },
  missing: {
    kind: 'counter',
    name: 'pullsync_missing_chunks',
    help: 'Chunks that peers asked for and that had left the reserve since they were offered.',
  },
  invalid: {
    kind: 'counter',
    name: 'pullsync_received_invalid_chunks',
    help: 'Deliveries whose data does not belong to their address.',
  },
  zeroAddress: {
    kind: 'counter',
    name: 'pullsync_received_zero_address',
    help: 'Deliveries of chunks that the peer had lost since it offered them.',
  },
  duplicateRuids: {
    kind: 'counter',
    name: 'pullsync_duplicate_ruids',
    help: 'Always 0: requests have no ids any more; kept for dashboards of the reference node.',
  },
  lastReceived: {
    kind: 'counter',
    name: 'pullsync_last_received',
    help: 'Valid chunks delivered, by bin of the peer.',
    labels: ['bin'],
  },
} as const satisfies MetricTable;
