import { NodeClient } from '../../../../harness/client/node-client.ts';
import { BytesClient } from '../../../../harness/client/transfers.ts';
import { ClusterNode } from '../../../../harness/cluster/nodes/cluster-node.ts';
import { after, all, answers, changes, fails, impatience, type Lie, type Mutation, refusal } from './lies.ts';

const ROUND = { rounds: '1', size: '100000' };

function growing(): Lie {
  let memoryBytes = 1;
  return changes(ClusterNode.prototype, 'stats', (stats) => ({
    ...stats,
    memoryBytes: (memoryBytes *= 1000),
  }));
}

export const DISHONEST: readonly Mutation[] = [
  [
    'byzantine',
    ROUND,
    all(impatience, fails(BytesClient.prototype, 'download', refusal(503))),
    /honest nodes serve each other/,
  ],
  [
    'byzantine',
    ROUND,
    changes(BytesClient.prototype, 'download', (data) => data.slice(1)),
    /node-\d downloads the right bytes of/,
  ],
  [
    'byzantine',
    ROUND,
    all(
      growing(),
      answers(NodeClient.prototype, 'peers', () => []),
      answers(ClusterNode.prototype, 'loggedErrors', () => [
        { level: 'error', time: '', module: 'test', message: 'told by a test', fields: {} },
      ]),
    ),
    /the memory of node-\d stays bounded/,
    /node-\d has honest peers/,
    /node-\d logs no errors/,
  ],
  [
    'byzantine',
    ROUND,
    after(
      ClusterNode.prototype,
      'loggedErrors',
      changes(ClusterNode.prototype, 'observe', (sight) => ({ ...sight, state: 'crashed' as const })),
    ),
    /node-\d runs/,
  ],
];
