import { ClientError } from 'svcnet';
import { defineScenario, type ScenarioContext } from 'svcnet/scenario';
import { type Implementation, implementations } from '../steps/known.ts';
import { batchOf } from '../steps/steps.ts';

/** As a span, the first eight are some 10^18 bytes; the chunk has 35. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq';

export default defineScenario({
  name: 'bee-letters',
  group: 'functional',
  about: 'Posts 43 letters as a chunk, then checks that reading it as data gets an answer.',
  parameters: {},
  needs: { nodes: 1 },
  cluster: { nodes: 1, with: { bee: 1 } },
  timeoutMs: 300_000,
  async run(context) {
    for (const one of implementations(context.cluster.nodes)) await readLetters(context, one);
  },
});

function readLetters(context: ScenarioContext, { flavour, nodes: [node] }: Implementation): Promise<void> {
  return context.step(`letters of ${flavour}`, async () => {
    const { signal } = context;
    const letters = new TextEncoder().encode(LETTERS);
    const { reference } = await node.chunks.upload(letters, { batch: batchOf(node), signal });
    const reads = [
      { as: 'data', read: () => node.bytes.download(reference, { signal }) },
      { as: 'a website', read: () => node.files.download(reference, '', { signal }) },
    ];
    for (const { as, read } of reads) {
      const error = await read().then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (error !== undefined && (signal.aborted || !(error instanceof ClientError))) throw error;
      context.expect(`${flavour}: reading it as ${as} is answered`, error?.status !== undefined || !error, {
        observed: error?.message ?? 'content',
        expected: 'an answer, whatever it says',
        evidence: `${node.name} ${reference}`,
      });
    }
  });
}
