import type { MetricTable } from '../env/metrics.ts';

export const KADEMLIA_METRICS = {
  connected: { kind: 'gauge', name: 'kademlia_currently_connected_peers', help: 'Connected full peers.' },
  known: {
    kind: 'gauge',
    name: 'kademlia_currently_known_peers',
    help: 'Known full peers, connected or not.',
  },
  depth: { kind: 'gauge', name: 'kademlia_current_storage_depth', help: 'Storage radius.' },
  connectedDepth: {
    kind: 'gauge',
    name: 'kademlia_current_depth',
    help: 'Neighbourhood depth: the deepest bin with at least three connected peers from it on, and no empty bin before it.',
  },
  latency: {
    kind: 'histogram',
    name: 'kademlia_peer_latency_ewma',
    help: 'Moving average of the response time of a peer, after each response, seconds.',
  },
  ownReachability: {
    kind: 'gauge',
    name: 'kademlia_reachability_status',
    help: 'Configured reachability of this node: 1 for Public or Private.',
    labels: ['reachability_status'],
  },
  inbound: { kind: 'counter', name: 'kademlia_total_inbound_connections', help: 'Peers accepted.' },
  disconnections: {
    kind: 'counter',
    name: 'kademlia_total_inbound_disconnections',
    help: 'Full peers lost, dialled by either side.',
  },
  outbound: {
    kind: 'counter',
    name: 'kademlia_total_outbound_connections',
    help: 'Peers dialled successfully.',
  },
  attempts: { kind: 'counter', name: 'kademlia_total_outbound_connection_attempts', help: 'Dials.' },
  failures: {
    kind: 'counter',
    name: 'kademlia_total_outbound_connection_failed_attempts',
    help: 'Dials that failed.',
  },
  bootnodeAttempts: {
    kind: 'counter',
    name: 'kademlia_total_bootnodes_connection_attempts',
    help: 'Dials of configured bootnodes.',
  },
  picks: { kind: 'counter', name: 'kademlia_pick_calls', help: 'Inbound peers considered.' },
  refusals: {
    kind: 'counter',
    name: 'kademlia_pick_calls_false',
    help: 'Inbound peers refused because of a full bin.',
  },
  reachability: {
    kind: 'gauge',
    name: 'kademlia_peers_reachability_status',
    help: 'Reachability of peers, by probe result.',
    labels: ['peers_reachability_status'],
  },
  light: { kind: 'gauge', name: 'lightnode_currently_connected_peers', help: 'Connected light peers.' },
} as const satisfies MetricTable;

export const PROBE_METRICS = {
  peers: { kind: 'gauge', name: 'reacher_peers', help: 'Peers that are probed regularly.' },
  attempts: { kind: 'counter', name: 'reacher_ping_attempt_count', help: 'Probes of peers.' },
  errors: { kind: 'counter', name: 'reacher_ping_error_count', help: 'Probes that failed.' },
  duration: { kind: 'histogram', name: 'reacher_ping_duration_seconds', help: 'Duration of a probe.' },
} as const satisfies MetricTable;
