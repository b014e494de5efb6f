import type { Board } from '../board.ts';
import { increase, ofNodes, rate, sum } from '../queries.ts';

const byNode = (name: string) => ({ expr: sum(ofNodes(name), 'node'), legend: '{{node}}' });
const perSecond = (name: string) => sum(rate(ofNodes(name)));

export const storage: Board = {
  uid: 'svcnet-storage',
  title: 'svcnet 4: Sync and storage',
  about: 'Reserves, their radius, and the chunks that nodes pull from each other.',
  rows: [
    {
      title: 'Reserve',
      panels: [
        {
          kind: 'series',
          title: 'Reserve size',
          about: 'Chunks in the reserve of each node.',
          unit: 'count',
          queries: [byNode('localstore_reserve_size')],
        },
        {
          kind: 'series',
          title: 'Reserve within the radius',
          about: 'Chunks that the node is responsible for.',
          unit: 'count',
          queries: [byNode('localstore_reserve_size_within_radius')],
        },
        {
          kind: 'series',
          title: 'Storage radius',
          about: 'Depth from which on each node stores chunks. It grows when reserves are full.',
          unit: 'count',
          queries: [byNode('localstore_storage_radius')],
        },
        {
          kind: 'series',
          title: 'Chunks that left the reserve',
          about:
            'Evicted: the reserve was over its capacity. Expired: the batch was no more. Handed over: responsible nodes hold them; counted by nodes of svcnet.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('localstore_evicted_count'), legend: 'evicted' },
            { expr: perSecond('localstore_expired_count'), legend: 'expired' },
            {
              expr: sum(rate(ofNodes('localstore_handed_over_count')), 'how'),
              legend: 'handed over: {{how}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Runs over capacity',
          about: 'Times that a reserve had to be brought back to its capacity.',
          unit: 'count',
          queries: [
            { expr: sum(increase(ofNodes('localstore_over_cap_trigger_count')), 'node'), legend: '{{node}}' },
          ],
        },
        {
          kind: 'series',
          title: 'Chunks without a batch',
          about: 'Chunks in the reserve whose batch is not known, at the last look. They leave soon.',
          unit: 'count',
          queries: [byNode('localstore_reserve_missing_batch')],
        },
        {
          kind: 'series',
          title: 'Cache',
          about: 'Chunks that each node keeps for repeated reads.',
          unit: 'count',
          queries: [byNode('localstore_cache_size')],
        },
        {
          kind: 'series',
          title: 'Expired batches',
          about: 'Batches whose chunks have left the reserve of each node, since its start.',
          unit: 'count',
          queries: [byNode('localstore_expired_batch_count')],
        },
        {
          kind: 'series',
          title: 'Commitment of batches',
          about:
            'Chunks that all live batches may stamp, as each node has seen on the chain. The lines should be one.',
          unit: 'count',
          queries: [byNode('batchstore_commitment')],
        },
        {
          kind: 'series',
          title: 'Radius that the commitment needs',
          about: 'Radius at which all that may be stamped would fit the reserve.',
          unit: 'count',
          queries: [byNode('batchstore_radius')],
        },
        {
          kind: 'series',
          title: 'Duration of the last reserve sample',
          about: 'What a node samples to take part in the storage game; zero before its first round.',
          unit: 'seconds',
          queries: [byNode('storageincentives_reserve_sample_duration')],
        },
      ],
    },
    {
      title: 'Pull syncing',
      panels: [
        {
          kind: 'series',
          title: 'Chunks asked for and delivered',
          about: 'Offered by peers, asked of them because they were missing, and delivered.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('pullsync_chunks_offered'), legend: 'offered' },
            { expr: perSecond('pullsync_chunks_wanted'), legend: 'wanted' },
            { expr: perSecond('pullsync_chunks_delivered'), legend: 'delivered' },
          ],
        },
        {
          kind: 'series',
          title: 'Chunks served to peers',
          about: 'Offered to peers, asked for by them, and sent.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('pullsync_chunks_sent_offered'), legend: 'offered' },
            { expr: perSecond('pullsync_chunks_sent_wanted'), legend: 'wanted' },
            { expr: perSecond('pullsync_chunks_sent'), legend: 'sent' },
          ],
        },
        {
          kind: 'series',
          title: 'Failures',
          about: 'Pages that failed, and deliveries that were not what was asked for.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('puller_worker_errors'), legend: 'pages failed' },
            { expr: perSecond('pullsync_missing_chunks'), legend: 'gone since offered' },
            { expr: perSecond('pullsync_received_zero_address'), legend: 'lost by the peer' },
            { expr: perSecond('pullsync_received_invalid_chunks'), legend: 'invalid data' },
          ],
        },
        {
          kind: 'heatmap',
          title: 'Deliveries by bin',
          about: 'Chunks delivered, by bin of the peer that delivered them.',
          unit: 'perSecond',
          upwards: 'count',
          query: { expr: sum(rate(ofNodes('pullsync_last_received')), 'bin'), legend: '{{bin}}' },
        },
        {
          kind: 'series',
          title: 'Historical and live chunks',
          about: 'Chunks pulled: those that were there when the peer connected, and those that came later.',
          unit: 'perSecond',
          queries: [{ expr: sum(rate(ofNodes('puller_synced_chunks')), 'type'), legend: '{{type}}' }],
        },
        {
          kind: 'series',
          title: 'Bins being pulled',
          about: 'Workers of each node.',
          unit: 'count',
          queries: [byNode('puller_worker')],
        },
      ],
    },
  ],
};
