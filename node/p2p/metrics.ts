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
  closedStreams: {
    kind: 'counter',
    name: 'libp2p_closed_stream_count',
    help: 'Protocol streams closed by both sides.',
  },
  resetStreams: {
    kind: 'counter',
    name: 'libp2p_stream_reset_count',
    help: 'Protocol streams reset by this node.',
  },
  handlerResets: {
    kind: 'counter',
    name: 'libp2p_stream_handler_error_reset_count',
    help: 'Served streams reset by this node because its handler failed.',
  },
  headersTime: {
    kind: 'histogram',
    name: 'libp2p_headers_exchange_duration',
    help: 'Time from opening a protocol stream to the headers of the peer, seconds.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  bytes: {
    kind: 'counter',
    name: 'libp2p_protocol_bytes_total',
    help: 'Bytes of protocol streams, headers and length prefixes included, encryption and multiplexing not.',
    labels: ['protocol', 'direction'],
  },
  unexpected: {
    kind: 'counter',
    name: 'libp2p_unexpected_protocol_request_count',
    help: 'Streams refused: no handshake, or too many at once.',
  },
  blocklisted: {
    kind: 'counter',
    name: 'libp2p_blocklisted_peer_count',
    help: 'Peers blocklisted.',
  },
  blocklistErrors: {
    kind: 'counter',
    name: 'libp2p_blocklisted_peer_err_count',
    help: 'Peers that could not be blocklisted.',
  },
  disconnected: {
    kind: 'counter',
    name: 'libp2p_disconnect_count',
    help: 'Peers disconnected by this node.',
  },
} as const satisfies MetricTable;

export const HANDSHAKE_METRICS = {
  synReceived: { kind: 'counter', name: 'handshake_syn_rx', help: 'Handshakes started by peers.' },
  synFailed: {
    kind: 'counter',
    name: 'handshake_syn_rx_failed',
    help: 'Handshake SYNs that could not be read.',
  },
  synAckSent: { kind: 'counter', name: 'handshake_syn_ack_tx', help: 'Handshake SYN-ACKs sent.' },
  synAckFailed: {
    kind: 'counter',
    name: 'handshake_syn_ack_tx_failed',
    help: 'Handshake SYN-ACKs that could not be sent.',
  },
  ackReceived: {
    kind: 'counter',
    name: 'handshake_ack_rx',
    help: 'Handshake ACKs received from dialling peers.',
  },
  ackFailed: {
    kind: 'counter',
    name: 'handshake_ack_rx_failed',
    help: 'Handshake ACKs that did not arrive or were refused.',
  },
} as const satisfies MetricTable;
