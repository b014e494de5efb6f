/** The second implementation is ours in disguise. */
import { ChequebookClient } from '../../../../harness/client/money.ts';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { BytesClient } from '../../../../harness/client/transfers.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import { ClusterNode } from '../../../../harness/cluster/nodes/cluster-node.ts';
import { after, all, answers, changes, holding, impatience, type Mutation, waits } from './lies.ts';

const SMALL = { sizes: '5000', chunks: '1', files: '2', sample: '20' };

const disguised = changes(Cluster, 'attach', (cluster) => {
  for (const node of cluster.nodes.slice(2)) Object.defineProperty(node, 'flavour', { value: 'bee' });
  return cluster;
});
const noCheques = all(
  impatience,
  answers(BytesClient.prototype, 'upload', () => ({ reference: 'ab'.repeat(32), tag: 0 })),
  answers(Cluster.prototype, 'synced', () => undefined),
  changes(NodeClient.prototype, 'settlements', (rows) => ({ ...rows, settlements: [] })),
);

export const MIXED: readonly Mutation[] = [
  [
    'mixed',
    SMALL,
    all(
      disguised,
      waits(5000),
      holding(false),
      answers(BytesClient.prototype, 'download', () => new Uint8Array(3)),
      answers(NodeClient.prototype, 'blocklist', () => [
        { address: 'ab'.repeat(32), reason: 'a test', duration: 60 },
      ]),
      answers(ClusterNode.prototype, 'loggedErrors', () => [
        { level: 'error', time: '', module: 'test', message: 'told by a test', fields: {} },
      ]),
      changes(ChequebookClient.prototype, 'cashout', (cashout) => ({
        ...cashout,
        result: cashout.result && { ...cashout.result, bounced: true },
      })),
    ),
    /every full node of a chunk's neighbourhood holds it/,
    /node-\d \((svc|bee)\) serves everything of node-\d/,
    /no node refuses another/,
    /no node has logged an error/,
    /node-\d \(\w+\) cashes what node-\d \(\w+\) has promised/,
    /every acknowledged chunk is held by a node/,
  ],
  [
    'mixed',
    SMALL,
    all(disguised, after(NodeClient.prototype, 'node', noCheques)),
    /node-\d pays node-\d by cheque/,
    /nothing is lost or made: balances, cheques and tokens add up/,
  ],
];
