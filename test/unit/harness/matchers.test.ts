import { expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import '../../../harness/vitest.ts';

const REFERENCE = 'ab'.repeat(32);

interface Answers {
  readonly state?: string;
  readonly status?: () => Promise<unknown>;
  readonly has?: boolean;
}

/** A node never sends the right chunk. */
function madeNode({
  state = 'running',
  status = () => Promise.resolve({}),
  has = true,
}: Answers): ClusterNode {
  const chunks = {
    has: () => Promise.resolve(has),
    download: () => Promise.resolve(new Uint8Array(8)),
  };
  const chunkEvents = () => Promise.resolve({ capacity: 0, lost: 0 });
  const values = { state, name: 'node-1', mode: 'full', flavour: 'svc', overlay: '00'.repeat(32) };
  const client = { clock: MACHINE_CLOCK, status, chunks, chunkEvents };
  return Object.create(
    ClusterNode.prototype,
    Object.getOwnPropertyDescriptors({ ...values, client }),
  ) as ClusterNode;
}

function madeCluster(...nodes: readonly ClusterNode[]): Cluster {
  return Object.create(Cluster.prototype, {
    clock: { value: MACHINE_CLOCK },
    nodes: { value: nodes },
  }) as Cluster;
}

const noAnswer = () => Promise.reject(new Error('no answer within 10 s'));

test('a node that cannot be asked neither holds nor lacks content', async () => {
  const stopped = madeNode({ state: 'stopped' });
  await expect(expect(stopped).not.toHold(REFERENCE)).rejects.toThrow(
    'cannot see what node-1 holds: it is stopped',
  );
  await expect(expect(stopped).toHold(REFERENCE)).rejects.toThrow('cannot see what node-1 holds');
});

test('a running node that does not answer may hold what the others lack', async () => {
  const silent = madeNode({ status: noAnswer });
  const lacking = madeNode({ has: false });
  await expect(expect(madeCluster(lacking, silent)).not.toHold(REFERENCE)).rejects.toThrow(
    'cannot see what every running node holds: node-1: no answer within 10 s',
  );
  await expect(madeCluster(lacking, madeNode({ state: 'stopped' }))).not.toHold(REFERENCE);
});

test('a tree that cannot be read is neither held nor lacking', async () => {
  for (const asked of [madeNode({}), madeCluster(madeNode({}))]) {
    await expect(expect(asked).not.toHold(REFERENCE)).rejects.toThrow('not every chunk could be read');
    await expect(expect(asked).toHold(REFERENCE)).rejects.toThrow('not every chunk could be read');
  }
});

test('content that a node lacks is not held', async () => {
  await expect(madeNode({ has: false })).not.toHold(REFERENCE);
  await expect(madeCluster(madeNode({ has: false }))).not.toHold(REFERENCE);
});
