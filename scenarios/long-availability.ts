import { ClientError, type ClusterNode } from 'svcnet';
import { defineScenario, messageOf, parameter, type ScenarioContext } from 'svcnet/scenario';
import { uploadContent, withoutPin } from './steps/content.ts';
import { chosenNode, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  refs: parameter('list', [], 'references to download; none: upload new content'),
  size: parameter('size', 2 ** 20, 'size of the new content', { min: 1 }),
  'retry-count': parameter('integer', 3, 'attempts per reference in each round', {
    min: 1,
    allowance: true,
  }),
  'retry-wait': parameter('duration', 1000, 'pause before the next attempt', { allowance: true }),
  'next-iter-wait': parameter('duration', 0, 'pause between rounds, such as 6h'),
  rounds: parameter('integer', 3, 'number of rounds over all references', { min: 1 }),
  'min-availability': parameter('number', 1, 'smallest share of the downloads that must succeed'),
};
type Context = ScenarioContext<typeof parameters>;

/** Months of rounds that are hours apart. */
const TIMEOUT_MS = 2_000_000_000;

export default defineScenario({
  name: 'long-availability',
  group: 'durability',
  about: 'Downloads known content over and over, each time from a different node that has not pinned it.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: TIMEOUT_MS,
  async run(context) {
    const { refs, size, rounds, 'next-iter-wait': pause } = context.parameters;
    const own = { name: 'content', size };
    const references =
      refs.length > 0 ? refs : [(await uploadContent(context, chosenNode(context, ''), own)).reference];
    const failures: string[] = [];
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await context.cluster.clock.sleep(pause, context.signal);
      for (const reference of references) failures.push(...(await download(context, reference, round)));
    }
    const total = rounds * references.length;
    const least = context.parameters['min-availability'];
    context.expect('content is available', total - failures.length >= least * total, {
      observed: `${total - failures.length} of ${total} downloads`,
      expected: `at least ${Math.round(least * 1000) / 10} %`,
      ...(failures.length === 0 ? {} : { evidence: failures.slice(0, 20).join('\n') }),
    });
    if (refs.length === 0) await verifyLedger(context);
  },
});

function download(context: Context, reference: string, round: number): Promise<string[]> {
  return context.step('download', async (progress) => {
    const { signal, parameters: given } = context;
    const random = context.random(`reader of ${reference}, round ${round}`);
    const readers = await withoutPin(workingNodes(context.cluster.nodes), reference, signal);
    if (readers.length === 0) context.skip(`every node has pinned ${reference}`);
    let failure = '';
    for (let attempt = 0; attempt < given['retry-count']; attempt++) {
      if (attempt > 0) await context.cluster.clock.sleep(given['retry-wait'], signal);
      const node = readers[random.below(readers.length)] as ClusterNode;
      progress.detail(`${reference.slice(0, 8)} from ${node.name}`);
      try {
        const work = () => node.bytes.download(reference, { cache: false, signal });
        await context.measure({ operation: 'download', node: node.name }, work, ({ length }) => length);
        return [];
      } catch (error) {
        if (!(error instanceof ClientError) || signal.aborted) throw error;
        failure = messageOf(error);
      }
    }
    return [`${reference}, round ${round + 1}: ${failure}`];
  });
}
