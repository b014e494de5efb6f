import type { Board } from '../board.ts';
import { increase, ofNodes, ofRun, quantile, rate, share, sum } from '../queries.ts';

const byNode = (name: string) => ({ expr: sum(ofNodes(name), 'node'), legend: '{{node}}' });
const perSecond = (name: string) => sum(rate(ofNodes(name)));
const healthy = perSecond('salud_healthy');

export const topology: Board = {
  uid: 'svcnet-topology',
  title: 'svcnet 5: Topology',
  about: 'Peers, connections and their health.',
  rows: [
    {
      title: 'Peers',
      panels: [
        {
          kind: 'series',
          title: 'Connected peers',
          about: 'Full nodes that each node is connected to.',
          unit: 'count',
          queries: [byNode('kademlia_currently_connected_peers')],
        },
        {
          kind: 'series',
          title: 'Known peers',
          about: 'Full nodes that each node knows, connected or not.',
          unit: 'count',
          queries: [byNode('kademlia_currently_known_peers')],
        },
        {
          kind: 'series',
          title: 'Light peers',
          about: 'Light nodes that are connected to each node.',
          unit: 'count',
          queries: [byNode('lightnode_currently_connected_peers')],
        },
        {
          kind: 'series',
          title: 'Depth',
          about: 'Depth of the neighbourhood by connected peers, of each node.',
          unit: 'count',
          queries: [byNode('kademlia_current_depth')],
        },
        {
          kind: 'series',
          title: 'Storage depth',
          about: 'Storage radius as the table of peers has it.',
          unit: 'count',
          queries: [byNode('kademlia_current_storage_depth')],
        },
        {
          kind: 'series',
          title: 'Radius of the network',
          about: 'Most frequent depth of the full peers, as each node has heard it. The lines should be one.',
          unit: 'count',
          queries: [byNode('salud_network_radius')],
        },
        {
          kind: 'series',
          title: 'Neighbours that answer',
          about: 'Peers of the own neighbourhood that have answered the last question for their health.',
          unit: 'count',
          queries: [byNode('salud_neighbors')],
        },
      ],
    },
    {
      title: 'Health',
      panels: [
        {
          kind: 'series',
          title: 'Healthy peers',
          about: 'Share of the ratings of peers that came out healthy.',
          unit: 'ratio',
          queries: [
            { expr: share(healthy, `(${healthy} + ${perSecond('salud_unhealthy')})`), legend: 'healthy' },
          ],
        },
        {
          kind: 'series',
          title: 'Longest answer of a healthy peer',
          about: 'Time to the answer of the slowest peer that each node still rates as healthy.',
          unit: 'seconds',
          queries: [byNode('salud_pdur')],
        },
        {
          kind: 'series',
          title: 'Latency of peers',
          about: 'Moving average of the time that each peer takes to answer, over all peers.',
          unit: 'seconds',
          queries: [
            { expr: quantile(0.5, ofNodes('kademlia_peer_latency_ewma_bucket')), legend: 'p50' },
            { expr: quantile(0.99, ofNodes('kademlia_peer_latency_ewma_bucket')), legend: 'p99' },
          ],
        },
        {
          kind: 'series',
          title: 'Probes of peers',
          about: 'Peers that were probed, and probes that failed.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('reacher_ping_attempt_count'), legend: 'probes' },
            { expr: perSecond('reacher_ping_error_count'), legend: 'failed' },
          ],
        },
      ],
    },
    {
      title: 'Connections',
      panels: [
        {
          kind: 'series',
          title: 'Connections made and lost',
          about: 'Peers accepted, peers dialled, and peers that were lost or disconnected.',
          unit: 'count',
          queries: [
            { expr: sum(increase(ofNodes('kademlia_total_inbound_connections'))), legend: 'accepted' },
            { expr: sum(increase(ofNodes('kademlia_total_outbound_connections'))), legend: 'dialled' },
            { expr: sum(increase(ofNodes('kademlia_total_inbound_disconnections'))), legend: 'lost' },
            { expr: sum(increase(ofNodes('libp2p_disconnect_count'))), legend: 'disconnected by us' },
          ],
        },
        {
          kind: 'series',
          title: 'Dials',
          about: 'Attempts to connect to a peer, those that failed, and those of boot nodes.',
          unit: 'count',
          queries: [
            {
              expr: sum(increase(ofNodes('kademlia_total_outbound_connection_attempts'))),
              legend: 'attempts',
            },
            {
              expr: sum(increase(ofNodes('kademlia_total_outbound_connection_failed_attempts'))),
              legend: 'failed',
            },
            {
              expr: sum(increase(ofNodes('kademlia_total_bootnodes_connection_attempts'))),
              legend: 'boot nodes',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Blocklisted peers',
          about: 'Peers that a node has refused for a while, since it was started.',
          unit: 'count',
          queries: [byNode('libp2p_blocklisted_peer_count')],
        },
        {
          kind: 'series',
          title: 'Streams',
          about: 'Protocol streams opened and served, and served ones that ended in a reset.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('libp2p_created_stream_count'), legend: 'opened' },
            { expr: perSecond('libp2p_handled_stream_count'), legend: 'served' },
            { expr: perSecond('libp2p_stream_reset_count'), legend: 'reset' },
          ],
        },
        {
          kind: 'series',
          title: 'Time to the headers of a peer',
          about: 'From opening a protocol stream to the headers of the other side.',
          unit: 'seconds',
          queries: [
            { expr: quantile(0.5, ofNodes('libp2p_headers_exchange_duration_bucket')), legend: 'p50' },
            { expr: quantile(0.99, ofNodes('libp2p_headers_exchange_duration_bucket')), legend: 'p99' },
          ],
        },
        {
          kind: 'series',
          title: 'Handshakes',
          about: 'Handshakes that peers have begun, and those that failed.',
          unit: 'count',
          queries: [
            { expr: sum(increase(ofNodes('handshake_syn_rx'))), legend: 'begun by peers' },
            { expr: sum(increase(ofNodes('handshake_syn_rx_failed'))), legend: 'could not be read' },
            { expr: sum(increase(ofNodes('handshake_ack_rx_failed'))), legend: 'not finished' },
          ],
        },
        {
          kind: 'series',
          title: 'Bytes by protocol',
          about:
            'Bytes that nodes of svcnet have sent in the streams of each protocol, as the run counts them.',
          unit: 'bytesPerSecond',
          stacked: true,
          queries: [
            {
              expr: sum(rate(ofRun('network_bytes_total', 'direction="sent"')), 'protocol'),
              legend: '{{protocol}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Announced peers',
          about: 'Records of peers in announcements that were sent and received.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('hive_broadcast_peers_peer_count'), legend: 'sent' },
            { expr: perSecond('hive_peers_handler_peers_count'), legend: 'received' },
          ],
        },
      ],
    },
  ],
};
