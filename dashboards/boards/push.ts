import type { Board } from '../board.ts';
import { increase, ofNodes, quantile, rate, share, sum } from '../queries.ts';

const perSecond = (name: string, ...by: readonly string[]) => sum(rate(ofNodes(name)), ...by);

export const push: Board = {
  uid: 'svcnet-push',
  title: 'svcnet 2: Push path',
  about: 'How uploaded chunks reach the nodes that store them.',
  rows: [
    {
      title: 'Uploaders',
      panels: [
        {
          kind: 'series',
          title: 'Time to a receipt',
          about: 'From the begin of an attempt to push a chunk to the receipt of its storer.',
          unit: 'seconds',
          queries: [
            { expr: quantile(0.5, ofNodes('pusher_sync_time_bucket')), legend: 'p50' },
            { expr: quantile(0.95, ofNodes('pusher_sync_time_bucket')), legend: 'p95' },
            { expr: quantile(0.99, ofNodes('pusher_sync_time_bucket')), legend: 'p99' },
          ],
        },
        {
          kind: 'series',
          title: 'Chunks being pushed',
          about:
            'Attempts that have begun and not ended. A line that stays high: nodes push as fast as they may, and the queue behind is not empty.',
          unit: 'count',
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
        {
          kind: 'series',
          title: 'Attempts of the pusher',
          about:
            'Attempts that have ended, and those of them without a receipt: their chunks are tried again.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('pusher_total_synced'), legend: 'ended' },
            { expr: perSecond('pusher_total_errors'), legend: 'failed' },
          ],
        },
        {
          kind: 'series',
          title: 'Failed pushes of own chunks',
          about: 'Share of the chunks that an uploader pushed and got no receipt for.',
          unit: 'ratio',
          queries: [
            {
              expr: share(perSecond('pushsync_total_outgoing_errors'), perSecond('pushsync_total_requests')),
              legend: 'failed',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Peers asked per push',
          about: 'Pushes to one peer for each chunk to push, forwarded ones included. 1 is the least.',
          unit: 'count',
          queries: [
            {
              expr: share(
                perSecond('pushsync_total_send_attempts'),
                `(${perSecond('pushsync_total_requests')} + ${perSecond('pushsync_forwarder')})`,
              ),
              legend: 'attempts',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Failed pushes to one peer',
          about: 'Share of the pushes to one peer that failed; another peer may have taken the chunk.',
          unit: 'ratio',
          queries: [
            {
              expr: share(
                perSecond('pushsync_total_failed_send_attempts'),
                perSecond('pushsync_total_send_attempts'),
              ),
              legend: 'failed',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Time of a push to one peer, p99',
          about: 'By result. Slow errors cost an uploader more than slow successes.',
          unit: 'seconds',
          queries: [
            {
              expr: quantile(0.99, ofNodes('pushsync_push_peer_time_bucket'), 'status'),
              legend: '{{status}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Waiting for credit',
          about: 'Times that a peer could not be asked before the next refresh of its balance.',
          unit: 'perSecond',
          queries: [{ expr: perSecond('pushsync_overdraft_refresh'), legend: 'overdraft' }],
        },
      ],
    },
    {
      title: 'Forwarders and storers',
      panels: [
        {
          kind: 'series',
          title: 'What becomes of deliveries',
          about:
            'Share of the received deliveries that a node stores, and that it passes on. A node may do both.',
          unit: 'ratio',
          queries: [
            {
              expr: share(perSecond('pushsync_storer'), perSecond('pushsync_total_received')),
              legend: 'stored',
            },
            {
              expr: share(perSecond('pushsync_forwarder'), perSecond('pushsync_total_received')),
              legend: 'forwarded',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Time to answer a delivery, p95',
          about:
            'From a delivery to its receipt, by result; includes the time of those that it is forwarded to.',
          unit: 'seconds',
          queries: [
            {
              expr: quantile(0.95, ofNodes('pushsync_total_handler_time_bucket'), 'status'),
              legend: '{{status}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Time to validate a stamp, p95',
          about: 'By result.',
          unit: 'seconds',
          queries: [
            {
              expr: quantile(0.95, ofNodes('pushsync_stamp_validation_time_bucket'), 'status'),
              legend: '{{status}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Refused deliveries',
          about:
            'Deliveries without a receipt, all reasons together, and those with an invalid stamp. Nodes of svcnet count a full reserve apart.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('pushsync_total_handler_errors'), legend: 'refused' },
            { expr: perSecond('pushsync_invalid_stamps'), legend: 'invalid stamp' },
            { expr: perSecond('pushsync_no_room'), legend: 'reserve full' },
          ],
        },
        {
          kind: 'series',
          title: 'Shallow receipts',
          about: 'Share of own pushes whose receipt came from a storer outside the neighbourhood.',
          unit: 'ratio',
          queries: [
            {
              expr: share(perSecond('pushsync_shallow_receipt'), perSecond('pushsync_total_requests')),
              legend: 'shallow',
            },
          ],
        },
        {
          kind: 'heatmap',
          title: 'Depth of receipts',
          about: 'Proximity order of chunk and storer, which should not be below the storage radius.',
          unit: 'count',
          upwards: 'count',
          query: { expr: sum(increase(ofNodes('pushsync_receipt_depth')), 'depth'), legend: '{{depth}}' },
        },
      ],
    },
  ],
};
