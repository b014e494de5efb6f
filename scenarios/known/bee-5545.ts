import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { type Implementation, implementations, plainRequest } from '../steps/known.ts';
import { batchOf } from '../steps/steps.ts';

const parameters = {
  size: parameter('size', 200_000, 'size of the data; more than one chunk', { min: 4097 }),
};
type Context = ScenarioContext<typeof parameters>;

/** The report has the second one, a Bee's default. */
const LEVELS = [0, 1] as const;

export default defineScenario({
  name: 'bee-5545',
  group: 'functional',
  about: 'Uploads data with redundancy, then checks that HEAD gives the same length as GET.',
  parameters,
  needs: { nodes: 1 },
  cluster: { nodes: 1, with: { bee: 1 } },
  timeoutMs: 300_000,
  async run(context) {
    for (const one of implementations(context.cluster.nodes)) await compareHeaders(context, one);
  },
});

function compareHeaders(context: Context, { flavour, nodes: [node] }: Implementation): Promise<void> {
  return context.step(`headers of ${flavour}`, async () => {
    const { signal, parameters: given } = context;
    const data = context.random('data').bytes(given.size);
    for (const redundancyLevel of LEVELS) {
      const { reference } = await node.bytes.upload(data, { batch: batchOf(node), redundancyLevel, signal });
      const answer = await plainRequest(node, `/bytes/${reference}`, { method: 'HEAD', signal });
      const length = 'broken' in answer ? answer.broken : answer.headers['content-length'];
      context.expect(
        `${flavour}: HEAD of data at redundancy level ${redundancyLevel} returns its length`,
        length === String(given.size),
        {
          observed: length ?? 'no content-length',
          expected: given.size,
          evidence: `${node.name} ${reference}`,
        },
      );
    }
  });
}
