import { type ClusterNode, HarnessError } from 'svcnet';
import { batchAmount, defineScenario, formatMs, parameter, type ScenarioContext } from 'svcnet/scenario';
import { checkBooks } from './steps/money.ts';
import { chosenNode, inTime, missingOf, verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  stall: parameter('duration', 30_000, 'how long block production stops'),
  node: parameter('node', '', 'node that buys a batch during the stall; the first one when empty'),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

/** No chunk needs a block. */
const AVAILABLE = 1;
const DAY_MS = 86_400_000;
const BATCH_DEPTH = 17;
/** Blocks come every second; nodes look at the head several times a second. */
const CAUGHT_UP_WITHIN_MS = 30_000;
const USABLE_WITHIN_MS = 60_000;

export default defineScenario({
  name: 'chain-stall',
  group: 'chaos',
  tags: ['chain'],
  about:
    'Stops block production under load, then checks that chunks still move and that a pending purchase completes afterwards.',
  parameters,
  needs: { nodes: 3, control: true, started: true },
  cluster: { nodes: 4 },
  timeoutMs: 3_600_000,
  async run(context) {
    const { cluster, signal } = context;
    const { blockTimeMs } = cluster.chain;
    if (blockTimeMs === 0) context.skip('the chain mines on demand: it has no blocks to stop');
    const { stall } = context.parameters;
    if (stall <= blockTimeMs) {
      throw new HarnessError(
        'USAGE',
        `stall: got ${formatMs(stall)}, expected more than the ${formatMs(blockTimeMs)} between two blocks of this chain`,
      );
    }
    const nodes = workingNodes(cluster.nodes);
    const before = await checkBooks(context);
    const buyer = chosenNode(context, context.parameters.node);
    const terms = await cluster.chain.batchTerms();
    const { id } = await cluster.faults.begin({ kind: 'chain-stall' }, { signal });
    const purchase = buyer.stamps.buy(
      { amount: batchAmount(DAY_MS, terms), depth: BATCH_DEPTH, label: 'while no block came' },
      signal,
    );
    const settled = purchase.then(
      () => true,
      () => true,
    );
    await beside(context, { nodes: () => nodes }, async (traffic) => {
      const early = await Promise.race([settled, cluster.clock.sleep(stall, signal).then(() => false)]);
      context.expect('a purchase waits for a block', !early, {
        observed: early ? 'answered' : 'waiting',
        expected: 'waiting',
      });
      await traffic.stop();
      expectSuccess(context, 'uploads and reads succeed without new blocks', traffic.samples, {
        least: AVAILABLE,
      });
    });
    await cluster.faults.heal(id);
    await completes(context, buyer, purchase);
    await caughtUp(context, nodes);
    await checkBooks(context, { before });
    await verifyLedger(context);
  },
});

function completes(
  context: Context,
  buyer: ClusterNode,
  purchase: Promise<{ readonly batchID: string }>,
): Promise<void> {
  return context.step('purchase', async () => {
    const { batchID } = await purchase;
    const limits = { timeoutMs: USABLE_WITHIN_MS, signal: context.signal, buyer: buyer.name };
    const missing = await missingOf(context.cluster.usable(batchID, limits));
    context.expect('the purchase completes once blocks come', missing === undefined, {
      observed: missing ?? 'usable',
      expected: 'usable',
    });
    const listed = (await buyer.stamps.list(context.signal)).filter(
      ({ label }) => label === 'while no block came',
    );
    context.expect('the batch is bought once', listed.length === 1, { observed: listed.length, expected: 1 });
  });
}

function caughtUp(context: Context, nodes: readonly ClusterNode[]): Promise<void> {
  return context.step('catch up', async () => {
    const height = await context.cluster.chain.height(context.signal);
    const probe = async (signal: AbortSignal) => {
      const blocks = await Promise.all(
        nodes.map(async (node) => (await node.client.chainState(signal)).block),
      );
      const behind = nodes.filter((_, index) => (blocks[index] as number) < height);
      return behind.length === 0
        ? undefined
        : `${behind.map(({ name }) => name).join(', ')} behind block ${height}`;
    };
    const limits = { ...context, timeoutMs: CAUGHT_UP_WITHIN_MS };
    const missing = await inTime('all nodes have caught up', probe, limits);
    context.expect('every node catches up with the chain', missing === undefined, {
      observed: missing ?? `block ${height}`,
      expected: `block ${height} within ${CAUGHT_UP_WITHIN_MS / 1000} s`,
    });
  });
}
