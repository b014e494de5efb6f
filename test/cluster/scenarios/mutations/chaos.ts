import { vi } from 'vitest';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { StampsClient, TagsClient } from '../../../../harness/client/sessions.ts';
import { BytesClient, ChunksClient } from '../../../../harness/client/transfers.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import { Faults } from '../../../../harness/cluster/faults/faults.ts';
import { ClusterNode } from '../../../../harness/cluster/nodes/cluster-node.ts';
import {
  after,
  all,
  answers,
  changes,
  fails,
  holding,
  impatience,
  type Lie,
  lasts,
  late,
  type Mutation,
  refusal,
  takesAll,
  waits,
} from './lies.ts';

const MINUTE_MS = 60_000;

const noPeers = answers(NodeClient.prototype, 'peers', () => []);
const otherKeys = changes(NodeClient.prototype, 'addresses', (addresses) => ({
  ...addresses,
  overlay: '0'.repeat(64),
}));
const nowhere = holding(false);
const everywhere = holding(true);
const otherBytes = answers(BytesClient.prototype, 'download', () => new Uint8Array(3));
const noChunkUp = fails(ChunksClient.prototype, 'upload', refusal(503));
const noChunkDown = fails(ChunksClient.prototype, 'download', refusal(503));
const slowUploads = lasts(ChunksClient.prototype, 'upload', MINUTE_MS);
const slowTraffic = lasts(ChunksClient.prototype, 'upload', MINUTE_MS, 'steps/traffic.ts');
const wholeAtOnce = answers(Cluster.prototype, 'meshed', () => ({ links: 1, expected: 1 }));
const neverSynced = changes(TagsClient.prototype, 'get', (tag) => ({ ...tag, split: 2, seen: 0, synced: 1 }));
/** One node is not started again. */
const leftBehind: Lie = () =>
  void vi.spyOn(ClusterNode.prototype, 'start').mockImplementationOnce(() => Promise.resolve());
const slowTogether: Lie = (cluster) => {
  const begin = Reflect.get<Faults, 'begin'>(Faults.prototype, 'begin');
  vi.spyOn(Faults.prototype, 'begin').mockImplementation(function (this: Faults, request, options) {
    if ('latency' in request) slowUploads(cluster);
    return begin.call(this, request, options);
  });
};
const ownFault: Lie = () => {
  const upload = Reflect.get<ChunksClient, 'upload'>(ChunksClient.prototype, 'upload');
  vi.spyOn(ChunksClient.prototype, 'upload').mockImplementation(function (this: ChunksClient, ...given) {
    return upload.apply(this, given).catch(() => Promise.reject(refusal(503)));
  });
};

const EXPIRY = { ttl: '30', chunks: '3' };
const CHURN = { rounds: '1', 'file-size': '50000', level: '0', churn: '60' };
const KILL = { victims: 'uploader', modes: 'deferred', size: '5000', 'restart-after': '100ms' };
const STALL = { stall: '2s' };
const SPLIT = { hold: '500ms', baseline: '500ms', 'deadline-heal': '3s' };
const HOLD = { hold: '500ms' };
const SLOW = { profiles: 'metro', hold: '500ms', 'slow-node': '20ms' };

export const CHAOS: readonly Mutation[] = [
  ['batch-expiry', EXPIRY, ownFault, /an upload with an expired batch fails with a client error/],
  [
    'batch-expiry',
    EXPIRY,
    all(
      impatience,
      everywhere,
      takesAll(ChunksClient.prototype, 'upload', () => ({ reference: '' })),
    ),
    /an expired batch is refused at once/,
    /chunks of an expired batch leave the reserves/,
  ],
  [
    'chain-reorg',
    { depths: '1' },
    all(
      impatience,
      noChunkUp,
      answers(StampsClient.prototype, 'network', () => []),
    ),
    /all nodes list the batches of the chain after 1 blocks were replaced/,
    /uploads and reads succeed during reorganisations/,
  ],
  [
    'chain-stall',
    STALL,
    all(
      noChunkUp,
      answers(StampsClient.prototype, 'buy', (cluster) => ({
        batchID: cluster.node(0).batch ?? '',
        txHash: '',
      })),
    ),
    /uploads and reads succeed without new blocks/,
    /a purchase waits for a block/,
    /the batch is bought once/,
  ],
  [
    'chain-stall',
    STALL,
    all(
      fails(Cluster.prototype, 'usable', late),
      after(
        StampsClient.prototype,
        'list',
        all(
          waits(5000),
          changes(NodeClient.prototype, 'chainState', (state) => ({ ...state, block: 0 })),
        ),
      ),
    ),
    /the purchase completes once blocks come/,
    /every node catches up with the chain/,
  ],
  ['churn', { ...CHURN, 'join-within': '1ms' }, otherBytes, /is connected in time/, /files stay retrievable/],
  [
    'churn',
    { ...CHURN, 'sync-within': '300ms' },
    nowhere,
    /gets the chunks of its neighbourhood/,
    /every acknowledged chunk is held by a node/,
  ],
  [
    'kill-during-upload',
    KILL,
    all(impatience, neverSynced, lasts(Faults.prototype, 'heal', MINUTE_MS)),
    /: an acknowledged upload is synced after the kill/,
    /: node-\d is ready again in time/,
  ],
  [
    'node-kill',
    { every: '200ms', 'down-for': '100ms', duration: '300ms' },
    all(noChunkDown, wholeAtOnce),
    /reads succeed while nodes are killed/,
  ],
  [
    'partition-and-heal',
    SPLIT,
    all(noChunkDown, noPeers),
    /uploads and reads succeed before the partition/,
    /each side reads what it has stored/,
    /every node finds the others again/,
  ],
  [
    'partition-and-heal',
    SPLIT,
    all(waits(5000), nowhere, slowUploads),
    /requests that cannot be served fail without hanging/,
    /every chunk is on every node of its neighbourhood/,
    /every acknowledged chunk is held by a node/,
  ],
  [
    'pause',
    HOLD,
    all(impatience, noChunkUp, noPeers),
    /the other nodes keep serving/,
    /node-\d rejoins the network/,
  ],
  [
    'pullsync',
    {},
    all(impatience, nowhere),
    /every neighbour of .* has chunk/,
    /chunk .* has enough copies/,
    /every acknowledged chunk is held by a node/,
  ],
  [
    'rolling-restart',
    {},
    all(noChunkUp, leftBehind, wholeAtOnce),
    /requests to the other nodes succeed/,
    /every node is ready again/,
  ],
  [
    'rolling-upgrade',
    { sample: '3' },
    all(noChunkUp, otherKeys),
    /requests to the other nodes succeed/,
    /node-\d is the node that it was/,
    /every acknowledged chunk is readable/,
  ],
  [
    'rolling-upgrade',
    { sample: '3' },
    all(waits(5000), nowhere),
    /every acknowledged chunk is held by a node/,
  ],
  [
    'slow-link',
    SLOW,
    all(noChunkUp, wholeAtOnce),
    /metro: all uploads and reads succeed/,
    /one slow node: all uploads and reads succeed/,
  ],
  ['slow-link', { ...SLOW, 'slow-node': '0ms' }, slowTraffic, /metro: (upload|read)s take a few round trips/],
  ['slow-link', SLOW, slowTogether, /one slow node does not slow down the others/],
];
