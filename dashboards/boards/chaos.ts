import { ACTIVE, type Board, UP_DOWN } from '../board.ts';
import { ofMembers, ofNodes, ofRun, quantile, rate, share, sum } from '../queries.ts';

const FULL = 24;

export const chaos: Board = {
  uid: 'svcnet-chaos',
  title: 'svcnet 8: Chaos',
  about: 'What was done to the network, and what came of it.',
  rows: [
    {
      title: 'Faults',
      panels: [
        {
          kind: 'timeline',
          title: 'Active faults',
          about: 'What was done on purpose and lasts. A gap: nothing is done to this target.',
          unit: 'count',
          width: FULL,
          words: ACTIVE,
          query: { expr: `max by (kind, target) (${ofRun('fault_active')})`, legend: '{{kind}} {{target}}' },
        },
        {
          kind: 'timeline',
          title: 'Nodes',
          about: 'Whether each node runs and answers. Down without a fault above: a crash.',
          unit: 'count',
          width: FULL,
          words: UP_DOWN,
          query: { expr: `max by (node) (${ofMembers('node_up')})`, legend: '{{node}}' },
        },
      ],
    },
    {
      title: 'Consequences',
      panels: [
        {
          kind: 'series',
          title: 'Success ratio',
          about: 'Share of the operations that have succeeded.',
          unit: 'ratio',
          width: 12,
          queries: [
            {
              expr: share(
                sum(rate(ofRun('op_total', 'result="ok"')), 'op'),
                sum(rate(ofRun('op_total')), 'op'),
              ),
              legend: '{{op}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Latency, p99',
          about: 'Of operations that have succeeded.',
          unit: 'seconds',
          width: 12,
          queries: [{ expr: quantile(0.99, ofRun('op_seconds_bucket'), 'op'), legend: '{{op}}' }],
        },
        {
          kind: 'series',
          title: 'Connected peers',
          about: 'Full nodes that each node is connected to.',
          unit: 'count',
          width: 12,
          queries: [{ expr: sum(ofNodes('kademlia_currently_connected_peers'), 'node'), legend: '{{node}}' }],
        },
        {
          kind: 'series',
          title: 'Failed pushes and retrievals',
          about: 'Attempts with one peer that failed. Each costs the time until the next peer is asked.',
          unit: 'perSecond',
          width: 12,
          queries: [
            { expr: sum(rate(ofNodes('pushsync_total_failed_send_attempts'))), legend: 'pushes' },
            { expr: sum(rate(ofNodes('retrieval_total_errors'))), legend: 'retrievals' },
          ],
        },
        {
          kind: 'series',
          title: 'Peers refused',
          about:
            'Peers put on a blocklist, chunks whose data did not belong to their address, and refused stamps: what nodes notice of peers that break the rules.',
          unit: 'perSecond',
          width: 12,
          queries: [
            { expr: sum(rate(ofNodes('libp2p_blocklisted_peer_count'))), legend: 'blocklisted' },
            {
              expr: sum(rate(ofNodes('retrieval_invalid_chunk_retrieved'))),
              legend: 'invalid chunk retrieved',
            },
            { expr: sum(rate(ofNodes('pullsync_received_invalid_chunks'))), legend: 'invalid chunk pulled' },
            { expr: sum(rate(ofNodes('pushsync_invalid_stamps'))), legend: 'invalid stamp' },
            { expr: sum(rate(ofNodes('swap_cheques_rejected'))), legend: 'rejected cheque' },
          ],
        },
        {
          kind: 'series',
          title: 'Chunks being pushed',
          about: 'Attempts that have begun and not ended.',
          unit: 'count',
          width: 12,
          queries: [
            {
              expr: sum(
                `${ofNodes('pusher_total_to_push')} - on (node) ${ofNodes('pusher_total_synced')}`,
                'node',
              ),
              legend: '{{node}}',
            },
          ],
        },
      ],
    },
  ],
};
