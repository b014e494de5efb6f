import type { MetricTable } from '../env/metrics.ts';

export const P2P_METRICS = {
  created: {
    kind: 'counter',
    name: 'libp2p_created_connection_count',
    help: 'Outbound connections after the handshake.',
  },
  handled: {
    kind: 'counter',
    name: 'libp2p_handled_connection_count',
    help: 'Inbound connections after the handshake.',
  },
  createdStreams: { kind: 'counter', name: 'libp2p_created_stream_count', help: 'Protocol streams opened.' },
  handledStreams: { kind: 'counter', name: 'libp2p_handled_stream_count', help: 'Protocol streams served.' },
  resetStreams: {
    kind: 'counter',
    name: 'libp2p_stream_reset_count',
    help: 'Served streams that ended in a reset.',
  },
  unexpected: {
    kind: 'counter',
    name: 'libp2p_unexpected_protocol_request_count',
    help: 'Streams refused: peers without a handshake, too many at once.',
  },
  blocklisted: {
    kind: 'counter',
    name: 'libp2p_blocklisted_peer_count',
    help: 'Peers put on the blocklist.',
  },
  disconnected: { kind: 'counter', name: 'libp2p_disconnect_count', help: 'Peers that we disconnected.' },
} as const satisfies MetricTable;
