import type { MetricTable } from '../../env/metrics.ts';

/** `node-behaviour.md` 12. */
export const PULLSYNC_METRICS = {
  offered: { kind: 'counter', name: 'pullsync_chunks_offered', help: 'Chunks offered by peers.' },
  wanted: { kind: 'counter', name: 'pullsync_chunks_wanted', help: 'Chunks requested from peers.' },
  delivered: {
    kind: 'counter',
    name: 'pullsync_chunks_delivered',
    help: 'Valid chunks delivered by peers.',
  },
  sentOffered: { kind: 'counter', name: 'pullsync_chunks_sent_offered', help: 'Chunks offered to peers.' },
  sentWanted: { kind: 'counter', name: 'pullsync_chunks_sent_wanted', help: 'Chunks requested by peers.' },
  sent: { kind: 'counter', name: 'pullsync_chunks_sent', help: 'Deliveries sent, including empty ones.' },
  missing: {
    kind: 'counter',
    name: 'pullsync_missing_chunks',
    help: 'Chunks requested by peers that had left the reserve since they were offered.',
  },
  invalid: {
    kind: 'counter',
    name: 'pullsync_received_invalid_chunks',
    help: 'Deliveries whose data does not match the address.',
  },
  zeroAddress: {
    kind: 'counter',
    name: 'pullsync_received_zero_address',
    help: 'Deliveries of chunks that had left the reserve of the peer since it offered them.',
  },
  lastReceived: {
    kind: 'counter',
    name: 'pullsync_last_received',
    help: 'Valid chunks delivered, by bin of the peer.',
    labels: ['bin'],
  },
} as const satisfies MetricTable;
