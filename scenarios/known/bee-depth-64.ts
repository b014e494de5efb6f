import { HarnessError } from 'svcnet';
import { batchAmount, defineScenario, type ScenarioContext } from 'svcnet/scenario';
import { type Implementation, implementations } from '../steps/known.ts';
import { errorAsText, inTime } from '../steps/steps.ts';

/** One chunk more than 64 bits can count. */
const DEPTH = 64;
const TTL_MS = 25 * 3_600_000;
const BLOCKS = 3;
const READS_ON_WITHIN_MS = 60_000;

export default defineScenario({
  name: 'bee-depth-64',
  group: 'functional',
  about:
    'Buys a batch of depth 64, as anyone can: every node on the chain must survive. Bees of this chain never start again.',
  parameters: {},
  needs: { nodes: 1, started: true },
  cluster: { nodes: 1, with: { bee: 1 } },
  timeoutMs: 300_000,
  async run(context) {
    const followers = implementations(context.cluster.nodes);
    await buy(context, followers);
    const target = (await context.cluster.chain.height()) + BLOCKS;
    for (const one of followers) await readsOn(context, one, target);
  },
});

function buy(context: ScenarioContext, followers: readonly Implementation[]): Promise<void> {
  return context.step('purchase', async () => {
    const { cluster, signal } = context;
    const {
      nodes: [buyer],
    } = followers.find(({ flavour }) => flavour !== 'bee') ?? followers[0] ?? { nodes: [] };
    if (buyer === undefined) throw new HarnessError('NODE_STATE', 'there is no node that buys');
    const amount = batchAmount(TTL_MS, await cluster.chain.batchTerms());
    await cluster.chain.fund(buyer.ethereum, { tokens: amount << BigInt(DEPTH) });
    await buyer.stamps.buy({ amount, depth: DEPTH, label: 'endless' }, signal);
  });
}

function readsOn(
  context: ScenarioContext,
  { flavour, nodes: [node] }: Implementation,
  target: number,
): Promise<void> {
  return context.step(`blocks of ${flavour}`, async () => {
    const read = (signal: AbortSignal) =>
      errorAsText(signal, async () => {
        const { block } = await node.client.chainState(signal);
        return block >= target ? undefined : `it has read block ${block} of ${target}`;
      });
    const limits = { ...context, timeoutMs: READS_ON_WITHIN_MS };
    const missing = await inTime(`${node.name} reads on`, read, limits);
    context.expect(`${flavour}: the node survives a batch of depth 64 on the chain`, missing === undefined, {
      observed: missing ?? `block ${target} and later ones`,
      expected: `block ${target} read, ${BLOCKS} after the purchase`,
    });
  });
}
