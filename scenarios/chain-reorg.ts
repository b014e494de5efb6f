import type { ClusterNode } from 'svcnet';
import { batchAmount, buyBatch, defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { chosenNode, inTime, verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  depths: parameter(
    'list',
    ['1', '3', '4', '6', '12'],
    'numbers of blocks to replace, one number after another',
  ),
  node: parameter('node', '', 'node that buys the batches; the first one when empty'),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

const DAY_MS = 86_400_000;
const BATCH_DEPTH = 17;
const AGREED_WITHIN_MS = 30_000;
/** Chunks need no block: under an untouched batch they keep working. */
const AVAILABLE = 1;
/** More than any node holds back. */
const BRANCH_BLOCKS = 8;

export default defineScenario({
  name: 'chain-reorg',
  group: 'chaos',
  tags: ['chain'],
  about: 'Replaces the last blocks under load, then checks that every node lists the new chain’s batches.',
  parameters,
  needs: { nodes: 3, control: true, started: true },
  cluster: { nodes: 4 },
  timeoutMs: 1_800_000,
  async run(context) {
    const { cluster } = context;
    if (cluster.chain.steady) context.skip('blocks are replaced, which a node of the cluster forbids');
    const nodes = workingNodes(cluster.nodes);
    const buyer = chosenNode(context, context.parameters.node);
    await beside(context, { nodes: () => nodes }, async (traffic) => {
      for (const depth of context.parameters.depths) await replace(context, buyer, nodes, Number(depth));
      await traffic.stop();
      expectSuccess(context, 'uploads and reads succeed during reorganisations', traffic.samples, {
        least: AVAILABLE,
      });
    });
    await verifyLedger(context);
  },
});

function replace(
  context: Context,
  buyer: ClusterNode,
  nodes: readonly ClusterNode[],
  depth: number,
): Promise<void> {
  return context.step('reorganise', async (progress) => {
    const { cluster, signal } = context;
    const { chain } = cluster;
    const amount = batchAmount(DAY_MS, await chain.batchTerms());
    const stays = await buyBatch(
      cluster,
      buyer,
      { amount, depth: BATCH_DEPTH, label: `stays, ${depth}` },
      signal,
    );
    await chain.reorganise(depth);
    await chain.mine(BRANCH_BLOCKS);
    const height = await chain.height(signal);
    let isOnChain = false;
    const probe = async (aborted: AbortSignal) => {
      // Each time: the node repeats its purchase, which a later block may take.
      isOnChain = (await chain.batch(stays)) !== undefined;
      const views = await Promise.all(
        nodes.map(async (node) => {
          const { block } = await node.client.chainState(aborted);
          const ids = (await node.stamps.network(aborted)).map(({ batchID }) => batchID).toSorted();
          return { node, block, ids };
        }),
      );
      const behind = views.find(({ block }) => block < height);
      if (behind !== undefined) return `${behind.node.name} has read block ${behind.block} of ${height}`;
      const [first, ...others] = views;
      const apart = others.find(({ ids }) => ids.join() !== first?.ids.join());
      if (apart !== undefined) return `${apart.node.name} and ${first?.node.name} tell different batches`;
      const isTold = first?.ids.includes(stays) === true;
      if (isTold !== isOnChain)
        return `the nodes ${isTold ? 'tell' : 'do not tell'} batch ${stays.slice(0, 8)}, which is ${isOnChain ? '' : 'not '}on the chain`;
      return undefined;
    };
    const missing = await inTime('all nodes agree', probe, { cluster, timeoutMs: AGREED_WITHIN_MS, signal });
    context.expect(
      `all nodes list the batches of the chain after ${depth} blocks were replaced`,
      missing === undefined,
      {
        observed: missing ?? 'the same batches',
        expected: `the same batches within ${AGREED_WITHIN_MS / 1000} s`,
      },
    );
    progress.detail(`${depth} blocks, the batch is ${isOnChain ? '' : 'not '}on the new branch`);
  });
}
