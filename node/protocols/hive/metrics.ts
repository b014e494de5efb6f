import type { MetricTable } from '../../env/metrics.ts';

export const HIVE_METRICS = {
  sent: { kind: 'counter', name: 'hive_broadcast_peers_count', help: 'Announcements sent.' },
  sentPeers: {
    kind: 'counter',
    name: 'hive_broadcast_peers_peer_count',
    help: 'Records in announcements sent.',
  },
  received: { kind: 'counter', name: 'hive_peers_handler_count', help: 'Announcements received.' },
  receivedPeers: {
    kind: 'counter',
    name: 'hive_peers_handler_peers_count',
    help: 'Records in announcements received.',
  },
  timestampRejected: {
    kind: 'counter',
    name: 'hive_timestamp_rejected_total',
    help: 'Records dropped because of their time.',
    labels: ['reason'],
  },
} as const satisfies MetricTable;
