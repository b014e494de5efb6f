import { ClientError, type ClusterNode } from 'svcnet';
import { atMost, defineScenario, grouped, messageOf, parameter, type ScenarioContext } from 'svcnet/scenario';
import { readLedger, uploadContent } from './steps/content.ts';
import { holdersOf, neighbourhoodOf, storers } from './steps/presence.ts';
import { chosenNode, inTime, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  ledger: parameter('text', '', 'ledger.jsonl of an earlier run on this cluster; empty: upload new content'),
  size: parameter('size', 2 ** 20, 'size of the new content', { min: 1 }),
  sample: parameter('number', 1, 'share of the chunks to look for in their neighbourhood and to read'),
  'min-replicated': parameter(
    'number',
    0.99,
    'smallest share of these chunks that two nodes of the neighbourhood must hold',
  ),
  within: parameter('duration', 60_000, 'time limit for pull syncing', { allowance: true }),
};
type Context = ScenarioContext<typeof parameters>;

const AT_ONCE = 32;
/** If its neighbourhood has as many nodes. */
const COPIES = 2;

export default defineScenario({
  name: 'ledger-verify',
  group: 'durability',
  about:
    'Checks every chunk of a ledger: a node holds it, its neighbourhood replicates it, and other nodes can retrieve it.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 3_600_000,
  async run(context) {
    const { ledger, size } = context.parameters;
    if (ledger === '') await uploadContent(context, chosenNode(context, ''), { name: 'content', size });
    else for (const entry of readLedger(ledger)) await context.ledger.add(entry);
    await verifyLedger(context);
    const chunks = sample(context);
    await replicated(context, chunks);
    await retrievable(context, chunks);
  },
});

function sample(context: Context): string[] {
  const all = [...new Set(context.ledger.entries.flatMap((entry) => entry.chunks))];
  const random = context.random('sample');
  const threshold = Math.round(context.parameters.sample * 1e6);
  const chosen = all.filter(() => random.below(1e6) < threshold);
  if (chosen.length === 0)
    context.unchecked(`copies and retrieval: the sample holds none of ${all.length} chunks`);
  return chosen;
}

function replicated(context: Context, chunks: readonly string[]): Promise<void> {
  return context.step('replicated', async (progress) => {
    const full = storers(context.cluster.nodes);
    let thin = [...chunks];
    const probe = async (signal: AbortSignal) => {
      const still: string[] = [];
      await atMost(
        AT_ONCE,
        thin.map((chunk) => async () => {
          const { nodes } = await neighbourhoodOf(chunk, full, signal);
          const holders = await holdersOf(chunk, nodes, signal);
          if (holders.length < Math.min(COPIES, nodes.length)) still.push(chunk);
        }),
      );
      thin = still;
      progress.progress(chunks.length - thin.length, chunks.length, 'chunks');
      return thin.length === 0 ? undefined : `${thin.length} chunks`;
    };
    await inTime('all are replicated', probe, { ...context, timeoutMs: context.parameters.within });
    const least = context.parameters['min-replicated'];
    context.expect(
      'chunks have copies in their neighbourhoods',
      chunks.length - thin.length >= least * chunks.length,
      {
        observed: `${grouped(chunks.length - thin.length)} of ${grouped(chunks.length)} with ${COPIES} copies`,
        expected: `at least ${Math.round(least * 1000) / 10} %`,
        ...(thin.length === 0 ? {} : { evidence: thin.slice(0, 50).join('\n') }),
      },
    );
  });
}

/** Reads each chunk from outside its neighbourhood, or else from a node that lacks it. */
function retrievable(context: Context, chunks: readonly string[]): Promise<void> {
  return context.step('retrieve', async (progress) => {
    const { signal } = context;
    const nodes = workingNodes(context.cluster.nodes);
    const random = context.random('readers');
    const picks = chunks.map(() => random.below(2 ** 30));
    const failures: string[] = [];
    let done = 0;
    const works = chunks.map((chunk, index) => async () => {
      const near = new Set((await neighbourhoodOf(chunk, storers(nodes), signal)).nodes);
      const outside = nodes.filter((node) => !near.has(node));
      const readers = outside.length > 0 ? outside : nodes;
      const node = readers[(picks[index] as number) % readers.length] as ClusterNode;
      try {
        const work = () => node.chunks.download(chunk, { cache: false, signal });
        await context.measure({ operation: 'download chunk', node: node.name }, work, ({ length }) => length);
      } catch (error) {
        if (!(error instanceof ClientError) || signal.aborted) throw error;
        failures.push(`chunk ${chunk} from ${node.name}: ${messageOf(error)}`);
      }
      progress.progress(++done, chunks.length, 'chunks');
    });
    await atMost(AT_ONCE, works);
    context.expect('every chunk can be retrieved', failures.length === 0, {
      observed: `${failures.length} of ${chunks.length} cannot`,
      expected: 0,
      ...(failures.length === 0 ? {} : { evidence: failures.slice(0, 50).join('\n') }),
    });
  });
}
