import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { type Implementation, implementations, plainRequest } from '../steps/known.ts';
import { batchOf, difference } from '../steps/steps.ts';

const parameters = {
  size: parameter('size', 10_000, 'size of the data', { min: 1 }),
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'bee-5551',
  group: 'functional',
  about: 'Uploads encrypted data, then checks that HEAD finds what GET delivers.',
  parameters,
  needs: { nodes: 1 },
  cluster: { nodes: 1, with: { bee: 1 } },
  timeoutMs: 300_000,
  async run(context) {
    for (const one of implementations(context.cluster.nodes)) await askForBoth(context, one);
  },
});

function askForBoth(context: Context, { flavour, nodes: [node] }: Implementation): Promise<void> {
  return context.step(`headers of ${flavour}`, async () => {
    const { signal, parameters: given } = context;
    const data = context.random('data').bytes(given.size);
    const options = { batch: batchOf(node), encrypt: true, redundancyLevel: 0, signal };
    const { reference } = await node.bytes.upload(data, options);
    const part = difference(await node.bytes.download(reference, { signal }), data);
    context.expect(`${flavour}: GET of an encrypted reference delivers the data`, part === undefined, {
      observed: part ?? 'equal bytes',
      expected: `${given.size} bytes`,
    });
    const answer = await plainRequest(node, `/bytes/${reference}`, { method: 'HEAD', signal });
    const seen = 'broken' in answer ? answer.broken : answer.status;
    context.expect(`${flavour}: HEAD of the same reference finds it`, seen === 200, {
      observed: seen,
      expected: 200,
      evidence: `${node.name} ${reference}`,
    });
  });
}
