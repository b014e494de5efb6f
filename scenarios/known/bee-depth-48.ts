import { batchAmount, buyBatch, defineScenario, type ScenarioContext } from 'svcnet/scenario';
import { type Implementation, implementations } from '../steps/known.ts';
import { freshChunk } from '../steps/presence.ts';
import { errorAsText } from '../steps/steps.ts';

/** With 2^16 buckets: as many stamps in each as positions of 32 bits. */
const DEPTH = 48;
/** A Bee sells no batch for less than a day. */
const TTL_MS = 25 * 3_600_000;

export default defineScenario({
  name: 'bee-depth-48',
  group: 'functional',
  about: 'Buys a batch of depth 48, then checks that it stamps the first upload.',
  parameters: {},
  needs: { nodes: 1 },
  cluster: { nodes: 1, with: { bee: 1 } },
  timeoutMs: 300_000,
  async run(context) {
    for (const one of implementations(context.cluster.nodes)) await uploadDeep(context, one);
  },
});

function uploadDeep(context: ScenarioContext, { flavour, nodes: [node] }: Implementation): Promise<void> {
  return context.step(`upload of ${flavour}`, async () => {
    const { cluster, signal } = context;
    const amount = batchAmount(TTL_MS, await cluster.chain.batchTerms());
    await cluster.chain.fund(node.ethereum, { tokens: amount << BigInt(DEPTH) });
    const batch = await buyBatch(cluster, node, { amount, depth: DEPTH, label: 'deep' }, signal);
    const { data } = freshChunk(context.random(`chunk of ${flavour}`));
    const refused = await errorAsText(signal, async () => {
      await node.chunks.upload(data, { batch, signal });
      return undefined;
    });
    context.expect(`${flavour}: a batch of depth 48 stamps the first upload`, refused === undefined, {
      observed: refused ?? 'uploaded',
      expected: 'an upload: no stamp has been issued before',
      evidence: `${node.name} ${batch}`,
    });
  });
}
